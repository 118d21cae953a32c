def refused(worker, directory, seed):
    return None, [{"what": "skewed clock", "why": "not yet"}]
