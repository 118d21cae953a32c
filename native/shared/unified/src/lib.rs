//! No code: the manifest beside this is about features.
