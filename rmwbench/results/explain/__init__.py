"""Why is an arm as fast as it is? The input is a judged campaign; the output is the path of each
arm's bytes, the places where messages were lost, and the causes of its slowest messages."""
