"""From a trial's records to its metrics, and from the trials of an arm to the arm's: what each is
called, counted in and computed by (`glossary` names them, `trial` measures one trial, `aggregate`
an arm; `chain` has those of relayed messages, `network` those of links and outages). Imports
`records` and `stats`."""
