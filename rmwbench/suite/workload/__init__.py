"""What is sent: message types, topics and nodes, arrivals and QoS, as the endpoints of a trial."""
