"""One user's answer: campaigns and limits in; the decide document and its sentences out."""
