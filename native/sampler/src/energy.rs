//! The energy of the machine's parts, if the machine measures it: the processor's RAPL counters,
//! and sensors of boards.
//!
//! A counter gives energy exactly. A power sensor gives only values at moments, so its energy is
//! the mean of all readings times the duration; a short window without a series has two readings.
//! If a board reports voltage and current instead of power, their product is used.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::document::Energy;
use crate::kept::Kept;
use crate::window::unused;

#[derive(Debug)]
enum Source {
    /// Microjoules; the counter starts again at zero beyond the range.
    Counter { file: Kept, range: Option<u64> },
    /// Microwatts.
    Power { file: Kept },
    /// Millivolts and milliamperes.
    Product { voltage: Kept, current: Kept },
}

#[derive(Debug)]
pub struct Sensors {
    sources: Vec<(String, Source)>,
    /// Why there is no sensor, or why some are missing.
    pub reason: Option<String>,
}

/// One reading of every sensor: microjoules or microwatts, in the order of the sensors.
#[derive(Clone, Debug, PartialEq)]
pub struct Readings {
    time_ns: i64,
    values: Vec<Option<u64>>,
}

const NONE: &str = "no RAPL counter and no board power sensor here";
const DENIED: &str = "energy counters may only be read by the machine's root (chmod o+r /sys/class/powercap/*/energy_uj allows it)";

impl Sensors {
    /// Searches below `/sys/class`, or a directory like it.
    pub fn find(class: &Path) -> Sensors {
        let (mut sources, mut denied) = (Vec::new(), false);
        for zone in directories(&class.join("powercap")) {
            let name = text(&zone.join("name")).unwrap_or_default();
            // MMIO zones count the same energy again by another register.
            if name.is_empty()
                || !zone.join("energy_uj").exists()
                || zone.to_string_lossy().contains("mmio")
            {
                continue;
            }
            match Kept::open(zone.join("energy_uj")) {
                Ok(file) => {
                    let range =
                        text(&zone.join("max_energy_range_uj")).and_then(|t| t.parse().ok());
                    sources.push((
                        format!("rapl:{}{name}", parent_name(&zone)),
                        Source::Counter { file, range },
                    ));
                }
                Err(_) => denied = true,
            }
        }
        for chip in directories(&class.join("hwmon")) {
            let device = if chip.join("name").exists() { chip } else { chip.join("device") };
            for (name, source) in board(&device) {
                // Boards have several chips with one name, whose sensors have no labels.
                let taken = |candidate: &str| sources.iter().any(|(name, _)| name == candidate);
                sources.push((unused(&name, taken), source));
            }
        }
        let reason = if denied { Some(DENIED) } else { sources.is_empty().then_some(NONE) };
        Sensors { sources, reason: reason.map(String::from) }
    }

    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.sources.iter().map(|(name, _)| name.as_str())
    }

    pub fn read(&mut self, time_ns: i64) -> Readings {
        let values = self
            .sources
            .iter_mut()
            .map(|(_, source)| match source {
                Source::Counter { file, .. } | Source::Power { file } => number(file),
                Source::Product { voltage, current } => Some(number(voltage)? * number(current)?),
            })
            .collect();
        Readings { time_ns, values }
    }

    /// The energy from the first to the last reading; those in between count for power sensors.
    pub fn energy(&self, readings: &[Readings]) -> BTreeMap<String, Energy> {
        let named = |(place, (name, source)): (usize, &(String, Source))| {
            let points: Option<Vec<(i64, u64)>> =
                readings.iter().map(|r| Some((r.time_ns, r.values[place]?))).collect();
            let points = points.filter(|points| points.len() >= 2)?;
            let joules = match source {
                Source::Counter { range, .. } => {
                    let steps = points.windows(2).map(|pair| counted(pair[0].1, pair[1].1, *range));
                    steps.sum::<Option<u64>>()? as f64 * 1e-6
                }
                _ => {
                    points
                        .windows(2)
                        .map(|pair| {
                            (pair[1].0 - pair[0].0) as f64 * (pair[0].1 + pair[1].1) as f64 / 2.0
                        })
                        .sum::<f64>()
                        * 1e-15
                }
            };
            Some((name.clone(), Energy { joules }))
        };
        self.sources.iter().enumerate().filter_map(named).collect()
    }
}

/// The difference of a counter: if it decreased, it has passed its range once; without a known
/// range this cannot be decided.
fn counted(before: u64, after: u64, range: Option<u64>) -> Option<u64> {
    if after >= before {
        return Some(after - before);
    }
    range.filter(|&range| range >= before).map(|range| range - before + after)
}

/// The sensors of one board chip: energy, else power, else voltage and current with the same
/// number.
fn board(device: &Path) -> Vec<(String, Source)> {
    let Some(chip) = text(&device.join("name")) else { return Vec::new() };
    let mut sensors = Vec::new();
    for number in 1..=16 {
        let file = |kind: &str, what: &str| device.join(format!("{kind}{number}_{what}"));
        let label = |kinds: &[&str]| {
            let own_label = kinds.iter().find_map(|kind| text(&file(kind, "label")));
            format!("hwmon:{chip}/{}", own_label.unwrap_or_else(|| format!("{}{number}", kinds[0])))
        };
        if let Ok(file) = Kept::open(file("energy", "input")) {
            sensors.push((label(&["energy"]), Source::Counter { file, range: None }));
        }
        if let Ok(file) =
            Kept::open(file("power", "input")).or_else(|_| Kept::open(file("power", "average")))
        {
            sensors.push((label(&["power"]), Source::Power { file }));
        } else if let (Ok(voltage), Ok(current)) =
            (Kept::open(file("in", "input")), Kept::open(file("curr", "input")))
        {
            sensors.push((label(&["in", "curr"]), Source::Product { voltage, current }));
        }
    }
    sensors
}

/// `package-0/` for a zone inside a package, so that the cores of two packages differ.
fn parent_name(zone: &Path) -> String {
    let Some(zone_name) = zone.file_name().and_then(|n| n.to_str()) else { return String::new() };
    if zone_name.matches(':').count() < 2 {
        return String::new();
    }
    let parent = zone.with_file_name(&zone_name[..zone_name.rfind(':').unwrap_or(0)]);
    text(&parent.join("name")).map(|name| format!("{name}/")).unwrap_or_default()
}

fn number(file: &mut Kept) -> Option<u64> {
    file.read().ok()?.trim().parse().ok()
}

fn text(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_string())
}

fn directories(path: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(path).into_iter().flatten().filter_map(|e| Some(e.ok()?.path())).collect();
    entries.sort();
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(name: &str, files: &[(&str, &str)]) -> PathBuf {
        let root =
            std::env::temp_dir().join(format!("rmwbench-energy-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        for (path, content) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        root
    }

    #[test]
    fn rapl_counts_and_wraps() {
        let files = [
            ("powercap/intel-rapl:0/name", "package-0\n"),
            ("powercap/intel-rapl:0/energy_uj", "900\n"),
            ("powercap/intel-rapl:0/max_energy_range_uj", "1000\n"),
            ("powercap/intel-rapl:0:1/name", "dram\n"),
            ("powercap/intel-rapl:0:1/energy_uj", "10\n"),
            ("powercap/intel-rapl-mmio:0/name", "package-0\n"),
            ("powercap/intel-rapl-mmio:0/energy_uj", "10\n"),
        ];
        let root = class("rapl", &files);
        let mut sensors = Sensors::find(&root);
        assert_eq!(sensors.names().collect::<Vec<_>>(), ["rapl:package-0", "rapl:package-0/dram"]);
        let first = sensors.read(0);
        fs::write(root.join("powercap/intel-rapl:0/energy_uj"), "400\n").unwrap();
        fs::write(root.join("powercap/intel-rapl:0:1/energy_uj"), "5\n").unwrap();
        let last = sensors.read(1_000_000_000);
        let energy = sensors.energy(&[first, last]);
        assert!((energy["rapl:package-0"].joules - 500e-6).abs() < 1e-12);
        assert!(
            !energy.contains_key("rapl:package-0/dram"),
            "without a range a counter that ran backwards means nothing"
        );
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn boards_give_power_or_voltage_and_current() {
        let files = [
            ("hwmon/hwmon0/name", "ina3221\n"),
            ("hwmon/hwmon0/in1_label", "VDD_IN\n"),
            ("hwmon/hwmon0/in1_input", "5000\n"),
            ("hwmon/hwmon0/curr1_input", "400\n"),
            ("hwmon/hwmon1/name", "board\n"),
            ("hwmon/hwmon1/power1_input", "3000000\n"),
            ("hwmon/hwmon2/name", "thermal\n"),
            ("hwmon/hwmon2/temp1_input", "40000\n"),
        ];
        let root = class("board", &files);
        let mut sensors = Sensors::find(&root);
        let readings: Vec<Readings> =
            [0, 500_000_000, 2_000_000_000].into_iter().map(|t| sensors.read(t)).collect();
        let energy = sensors.energy(&readings);
        assert_eq!(energy.len(), 2);
        assert!(
            (energy["hwmon:ina3221/VDD_IN"].joules - 4.0).abs() < 1e-9,
            "2 W for 2 s: {energy:?}"
        );
        assert!((energy["hwmon:board/power1"].joules - 6.0).abs() < 1e-9);
        assert_eq!(sensors.energy(&readings[..1]).len(), 0);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn chips_and_sensors_of_one_name_are_all_counted() {
        let files = [
            ("hwmon/hwmon0/name", "ina226\n"),
            ("hwmon/hwmon0/power1_input", "12000000\n"),
            ("hwmon/hwmon1/name", "ina226\n"),
            ("hwmon/hwmon1/power1_input", "3000000\n"),
        ];
        let root = class("twins", &files);
        let mut sensors = Sensors::find(&root);
        let readings = [0, 1_000_000_000].map(|time_ns| sensors.read(time_ns));
        let energy = sensors.energy(&readings);
        let joules = |name: &str| energy[name].joules.round() as i64;
        assert_eq!((joules("hwmon:ina226/power1"), joules("hwmon:ina226/power1#2")), (12, 3));
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_machine_without_sensors_says_so() {
        let root = class("none", &[("hwmon/hwmon0/name", "thermal\n")]);
        let sensors = Sensors::find(&root);
        assert!(sensors.is_empty());
        assert_eq!(sensors.reason.as_deref(), Some(NONE));
        fs::remove_dir_all(root).unwrap();
    }
}
