"""REP-2004 quality declarations: what each says, item by item, with evidence and date; packages
side by side."""
