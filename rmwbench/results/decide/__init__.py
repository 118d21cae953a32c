"""Which candidate meets a user's limits? The input is campaigns and limits; the output is the
decide document and its sentences."""
