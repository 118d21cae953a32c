"""What would help, and did it? The arms of a judged campaign in; of each symptom that is seen the
remedy that is known, the command that tries it, and what it gained where its arm is there.

Symptoms are decided in `analysis/causes`; what is known to help is `suites/remedies.yaml`. Imports
`bundle`, `analysis`, `suite` and the models of `results`."""
