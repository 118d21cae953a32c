//! What goes wrong on purpose, by sequence number: so that the truth of each trial is written down
//! before it begins.
//!
//! Sequence numbers are words `7` or `7-12` (both ends included); of `stall` each is
//! `SEQ:MILLISECONDS`.

use std::time::Duration;

use rmwbench_harness::middleware::{Error, SessionConfig};

pub const OPTIONS: [&str; 4] = ["lose", "twice", "swap", "stall"];

#[derive(Debug, Default, PartialEq)]
pub struct Faults {
    /// Published as far as the application knows, and never written.
    lose: Vec<(u64, u64)>,
    /// Written twice.
    twice: Vec<(u64, u64)>,
    /// Written after the one that follows it.
    swap: Vec<(u64, u64)>,
    /// How long the publishing thread stands still before this message is written and stamped.
    stall: Vec<(u64, u64)>,
}

impl Faults {
    pub fn read(config: &SessionConfig) -> Result<Faults, Error> {
        let words = |name: &str| config.option(name, String::new());
        let fault = |name: &str, word: String| {
            Error::invalid(
                format!("option {name}"),
                format!("`{word}`: expected {}", expected(name)),
            )
        };
        let ranges = |name: &str| parse(&words(name)?, range).map_err(|word| fault(name, word));
        Ok(Faults {
            lose: ranges("lose")?,
            twice: ranges("twice")?,
            swap: ranges("swap")?,
            stall: parse(&words("stall")?, |word| pair(word, ':'))
                .map_err(|word| fault("stall", word))?,
        })
    }

    pub fn lost(&self, seq: u64) -> bool {
        within(&self.lose, seq)
    }

    pub fn twice(&self, seq: u64) -> bool {
        within(&self.twice, seq)
    }

    pub fn swapped(&self, seq: u64) -> bool {
        within(&self.swap, seq)
    }

    pub fn stall(&self, seq: u64) -> Option<Duration> {
        self.stall.iter().find(|(at, _)| *at == seq).map(|(_, ms)| Duration::from_millis(*ms))
    }
}

fn expected(name: &str) -> &'static str {
    if name == "stall" {
        "SEQ:MILLISECONDS"
    } else {
        "a sequence number or FIRST-LAST"
    }
}

fn within(ranges: &[(u64, u64)], seq: u64) -> bool {
    ranges.iter().any(|(first, last)| (*first..=*last).contains(&seq))
}

fn parse(text: &str, one: impl Fn(&str) -> Option<(u64, u64)>) -> Result<Vec<(u64, u64)>, String> {
    text.split_whitespace().map(|word| one(word).ok_or_else(|| word.to_string())).collect()
}

fn range(word: &str) -> Option<(u64, u64)> {
    match word.contains('-') {
        true => pair(word, '-').filter(|(first, last)| first <= last),
        false => word.parse().ok().map(|seq| (seq, seq)),
    }
}

fn pair(word: &str, between: char) -> Option<(u64, u64)> {
    let (first, second) = word.split_once(between)?;
    Some((first.parse().ok()?, second.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmwbench_harness::middleware::Profile;

    fn read(name: &str, text: &str) -> Result<Faults, Error> {
        let profile = Profile {
            name: "p".into(),
            format: "xml".into(),
            text: String::new(),
            summary: String::new(),
        };
        let options = [(name.to_string(), text.into())].into();
        Faults::read(&SessionConfig {
            profile,
            options,
            modes: Default::default(),
            domain_id: 0,
            trial_nonce: 0,
        })
    }

    #[test]
    fn words_are_numbers_ranges_and_stalls() {
        let faults = read("lose", "3 10-12").unwrap();
        let lost: Vec<u64> = (0..15).filter(|seq| faults.lost(*seq)).collect();
        assert_eq!(lost, [3, 10, 11, 12]);
        let faults = read("stall", "5:300").unwrap();
        assert_eq!((faults.stall(5), faults.stall(6)), (Some(Duration::from_millis(300)), None));
        assert_eq!(read("swap", "").unwrap(), Faults::default());
    }

    #[test]
    fn what_is_not_a_fault_is_named() {
        for (name, text) in [("lose", "12-10"), ("twice", "x"), ("stall", "5"), ("swap", "1-")] {
            let error = read(name, text).unwrap_err();
            assert!(error.object.contains(name) && error.message.contains(text), "{error}");
        }
    }
}
