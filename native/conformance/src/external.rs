//! A worker that cargo does not build (rclcpp, Python), known only by its program: the output of
//! `--describe` takes the place of the middleware. It runs the whole suite except for the checks
//! below the recorder, which need the traits in this process.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use rmwbench_harness::middleware::{Description, Error, Middleware, Session, SessionConfig};
use serde_json::Value;

pub struct External {
    description: Description,
    daemons: BTreeMap<String, &'static [&'static str]>,
    /// Variables that the worker needs in its environment.
    pub environment: BTreeMap<String, String>,
}

impl External {
    /// Gets the description of `worker`; `middleware` selects one if it has several.
    pub fn ask(worker: &str, middleware: Option<&str>) -> Result<External, String> {
        let output = Command::new(worker)
            .arg("--describe")
            .stdin(Stdio::null())
            .output()
            .map_err(|e| format!("{worker}: {e}"))?;
        if !output.status.success() {
            return Err(format!(
                "{worker} --describe: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            ));
        }
        let document: Value = serde_json::from_slice(&output.stdout)
            .map_err(|e| format!("{worker} --describe: {e}"))?;
        let all = document["middlewares"].as_array().cloned().unwrap_or_else(|| vec![document]);
        let names: Vec<&str> = all.iter().filter_map(|d| d["middleware"].as_str()).collect();
        let chosen = match middleware {
            Some(name) => names.iter().position(|n| *n == name),
            None => (names.len() == 1).then_some(0),
        };
        let Some(chosen) = chosen else {
            return Err(format!(
                "{worker}: expected one of {}, found {}",
                names.join(", "),
                middleware.unwrap_or("no choice")
            ));
        };
        External::read(&all[chosen]).map_err(|e| format!("{worker} --describe: {e}"))
    }

    pub(crate) fn read(one: &Value) -> Result<External, String> {
        let description: Description =
            serde_json::from_value(one.clone()).map_err(|e| e.to_string())?;
        let daemons = one["profiles"].as_array().into_iter().flatten().filter_map(|profile| {
            let names = profile["daemons"]
                .as_array()?
                .iter()
                .filter_map(|name| Some(leak(name.as_str()?)))
                .collect::<Vec<_>>();
            Some((profile["name"].as_str()?.to_string(), &*names.leak()))
        });
        let environment = one["environment"].as_object().into_iter().flatten();
        Ok(External {
            description,
            daemons: daemons.collect(),
            environment: environment
                .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_string())))
                .collect(),
        })
    }
}

/// Makes a text for the trait, whose names live as long as the process; there are only a few.
fn leak(text: &str) -> &'static str {
    text.to_string().leak()
}

impl Middleware for External {
    fn describe(&self) -> Description {
        self.description.clone()
    }

    fn open(&self, _config: &SessionConfig) -> Result<Box<dyn Session>, Error> {
        Err(Error::unsupported(
            "session",
            "the worker is another program: its traits cannot be called in this process",
        ))
    }

    fn daemons(&self, profile: &str) -> &'static [&'static str] {
        self.daemons.get(profile).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_describe_prints_becomes_the_middleware() {
        let one = json!({
            "middleware": "rclcpp/rmw_x", "layer": "rclcpp", "version": "1", "release_date": "", "build": {}, "capabilities": {},
            "environment": {"RMW_IMPLEMENTATION": "rmw_x"},
            "profiles": [{"name": "untouched", "format": "none", "text": "", "daemons": ["router"]}, {"name": "bare", "format": "none", "text": ""}],
        });
        let external = External::read(&one).unwrap();
        assert_eq!(external.describe().middleware, "rclcpp/rmw_x");
        assert_eq!(external.daemons("untouched"), ["router"]);
        assert!(external.daemons("bare").is_empty() && external.daemons("none such").is_empty());
        assert_eq!(external.environment["RMW_IMPLEMENTATION"], "rmw_x");
        assert!(External::read(&json!({"middleware": "x"})).is_err());
    }
}
