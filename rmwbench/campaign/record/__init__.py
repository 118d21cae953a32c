"""What a trial leaves: its outcome in; tables of the bundle out."""
