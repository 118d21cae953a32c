//! The whole machine: processor time by kind, and the drops of its network receive path.

use rustix::param::clock_ticks_per_second;

use crate::document::{Machine, Softnet};

/// The first line of `/proc/stat`, in ns since boot, summed over all processors; its resolution is
/// a tick of 10 ms. Guest time is part of user time.
pub fn parse_stat(text: &str) -> Option<Machine> {
    let tick_ns = 1_000_000_000 / clock_ticks_per_second().max(1);
    let mut ticks = text
        .lines()
        .next()?
        .strip_prefix("cpu ")?
        .split_whitespace()
        .map(|word| word.parse::<u64>().ok());
    let mut next = || ticks.next().flatten().map(|count| count * tick_ns);
    let (user, nice, system, idle, iowait, irq) =
        (next()?, next()?, next()?, next()?, next().unwrap_or(0), next().unwrap_or(0));
    let (softirq_ns, steal_ns) = (next().unwrap_or(0), next().unwrap_or(0));
    let processors =
        text.lines().filter(|l| l.starts_with("cpu") && !l.starts_with("cpu ")).count() as u64;
    Some(Machine {
        user_ns: user + nice,
        system_ns: system,
        idle_ns: idle + iowait,
        irq_ns: irq,
        softirq_ns,
        steal_ns,
        processors,
    })
}

/// `/proc/net/softnet_stat`: one line of hexadecimal columns per processor. Its counts are those of
/// all namespaces together.
pub fn parse_softnet(text: &str) -> Option<Softnet> {
    let mut sum = Softnet::default();
    for line in text.lines() {
        let mut columns =
            line.split_whitespace().skip(1).map(|word| u64::from_str_radix(word, 16).ok());
        sum.dropped += columns.next()??;
        sum.squeezed += columns.next()??;
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_by_kind() {
        let text = "cpu  10 1 20 300 5 6 7 8 0 0\ncpu0 1 1 1 1\ncpu1 1 1 1 1\nintr 5 5\n";
        let machine = parse_stat(text).unwrap();
        assert_eq!(
            (machine.user_ns, machine.system_ns, machine.idle_ns),
            (110_000_000, 200_000_000, 3_050_000_000)
        );
        assert_eq!(
            (machine.irq_ns, machine.softirq_ns, machine.steal_ns, machine.processors),
            (60_000_000, 70_000_000, 80_000_000, 2)
        );
        assert!(parse_stat("nothing of the kind").is_none());
        assert!(parse_stat(&std::fs::read_to_string("/proc/stat").unwrap()).unwrap().idle_ns > 0);
    }

    #[test]
    fn softnet_is_hexadecimal_and_summed() {
        let softnet =
            parse_softnet("000000ff 00000010 00000001 0\n00000000 00000002 0000000a 0\n").unwrap();
        assert_eq!((softnet.dropped, softnet.squeezed), (18, 11));
    }
}
