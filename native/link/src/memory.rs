//! A map of bounded size: it has two generations, and the older is forgotten when the younger is
//! full. The last `most` keys that were inserted or looked up are certainly still known.

use std::collections::HashMap;
use std::hash::Hash;

pub struct Recent<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
    most: usize,
}

impl<K: Hash + Eq + Copy, V: Copy> Recent<K, V> {
    pub fn new(most: usize) -> Recent<K, V> {
        Recent { young: HashMap::with_capacity(most), old: HashMap::with_capacity(most), most }
    }

    pub fn get(&mut self, key: K) -> Option<V> {
        if let Some(value) = self.young.get(&key) {
            return Some(*value);
        }
        let value = self.old.remove(&key)?;
        self.put(key, value);
        Some(value)
    }

    pub fn put(&mut self, key: K, value: V) {
        if self.young.len() >= self.most {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
        }
        self.young.insert(key, value);
    }

    /// Inserts the key; returns whether it was there before.
    pub fn replace(&mut self, key: K, value: V) -> bool {
        let known = self.get(key).is_some();
        self.put(key, value);
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_known_and_memory_is_bounded() {
        let mut recent = Recent::new(100);
        for k in 0..10_000 {
            assert!(!recent.replace(k, ()));
            assert!(k < 49 || recent.get(k - 49).is_some());
            assert!(recent.young.len() + recent.old.len() <= 200);
        }
        assert!(recent.get(1).is_none());
        assert!(recent.replace(9_990, ()));
    }
}
