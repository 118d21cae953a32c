//! `WORKER --daemon NAME`: a process that serves the workers of its host (RouDi, a router), under
//! the worker protocol.
//!
//! It knows `open`, which answers when the daemon serves, and `exit`. Unlike a worker it also
//! closes in order at the end of file: the next daemon of its kind would find what it left in the
//! file system.

use std::os::fd::OwnedFd;
use std::process::ExitCode;

use serde_json::json;

use crate::control::{complain, Control, Woken};
use crate::middleware::{Daemon, Error, Middleware};
use crate::modes;
use crate::protocol::{parse_request, Command, FromWorker, Open, Reply};
use crate::worker::hello;

/// Runs daemon `name` of `middleware` until `exit` or the end of file. Returns exit code 2 for a
/// bad control socket.
pub fn run(middleware: &dyn Middleware, name: &str, control: OwnedFd) -> ExitCode {
    let mut control = match Control::new(control) {
        Ok(control) => control,
        Err(error) => return complain(&format!("control socket: {error}")),
    };
    control.send(&hello(middleware, Some(name)));
    let mut serving: Option<Box<dyn Daemon>> = None;
    loop {
        let line = match control.wait(None) {
            Woken::Closed => return ExitCode::SUCCESS,
            Woken::Violated(what) => return complain(&what),
            Woken::TimedOut | Woken::Event(_) => continue,
            Woken::Line(line) => line,
        };
        let (id, result) = match parse_request(&line) {
            Ok(request) => match request.command {
                Command::Exit {} => {
                    drop(serving);
                    control
                        .send(&FromWorker::Reply { id: request.id, reply: Reply::Ok(json!({})) });
                    return ExitCode::SUCCESS;
                }
                Command::Open(open) => (request.id, start(middleware, name, open, &mut serving)),
                _ => (
                    request.id,
                    Err(Error::unsupported(
                        format!("daemon {name}"),
                        "a daemon knows only open and exit",
                    )),
                ),
            },
            Err(bad) => match bad.id {
                Some(id) => (id, Err(bad.error)),
                None => {
                    eprintln!("protocol: {}", bad.error);
                    continue;
                }
            },
        };
        let reply = result.map_or_else(Reply::Error, |()| Reply::Ok(json!({})));
        control.send(&FromWorker::Reply { id, reply });
    }
}

fn start(
    middleware: &dyn Middleware,
    name: &str,
    open: Open,
    serving: &mut Option<Box<dyn Daemon>>,
) -> Result<(), Error> {
    if serving.is_some() {
        return Err(Error::invalid(format!("daemon {name}"), "it serves already"));
    }
    let config = open.config()?;
    modes::check_asked(&middleware.describe(), &config)?;
    *serving = Some(middleware.daemon(name, &config)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::Shutdown;
    use std::os::unix::net::UnixStream;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::Arc;

    use serde_json::Value;

    use super::*;
    use crate::middleware::{capabilities, Description, Session, SessionConfig};

    #[derive(Default)]
    struct Routed {
        serving: Arc<AtomicUsize>,
    }

    struct Router(Arc<AtomicUsize>);

    impl Daemon for Router {}

    impl Drop for Router {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }

    impl Middleware for Routed {
        fn describe(&self) -> Description {
            Description {
                middleware: "routed".into(),
                layer: "native".into(),
                version: "1".into(),
                release_date: "2026-01-01".into(),
                build: Default::default(),
                capabilities: capabilities(&[]),
                modes: Default::default(),
                profiles: Vec::new(),
            }
        }

        fn open(&self, _: &SessionConfig) -> Result<Box<dyn Session>, Error> {
            Err(Error::failed("session", "a daemon opens none"))
        }

        fn daemon(&self, name: &str, config: &SessionConfig) -> Result<Box<dyn Daemon>, Error> {
            if name != "router" || config.trial_nonce != 0xab || config.profile.text != "port 7" {
                return Err(Error::invalid("daemon", format!("{name}, {config:?}")));
            }
            self.serving.fetch_add(1, Ordering::SeqCst);
            Ok(Box::new(Router(self.serving.clone())))
        }
    }

    const OPEN: &str = r#"{"id":1,"cmd":"open","trial_nonce":"ab","profile":{"name":"p","format":"text","text":"port 7"}}"#;

    /// Runs the daemon against `talk`, which gets a function that sends a line and returns the
    /// answer.
    fn with_daemon(
        name: &str,
        talk: impl FnOnce(&mut dyn FnMut(&str) -> Value, &Routed, UnixStream),
    ) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let middleware = Routed::default();
        std::thread::scope(|scope| {
            let served = scope.spawn(|| run(&middleware, name, theirs.into()));
            let mut lines = BufReader::new(ours.try_clone().unwrap()).lines();
            let mut read =
                move || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
            let hello = read();
            assert_eq!(
                (&hello["hello"]["daemon"], &hello["hello"]["middleware"]),
                (&json!(name), &json!("routed"))
            );
            let mut writer = ours.try_clone().unwrap();
            let mut ask = |line: &str| {
                writeln!(writer, "{line}").unwrap();
                read()
            };
            talk(&mut ask, &middleware, ours);
            assert_eq!(format!("{:?}", served.join().unwrap()), format!("{:?}", ExitCode::SUCCESS));
            assert_eq!(
                middleware.serving.load(Ordering::SeqCst),
                0,
                "the daemon outlived its process"
            );
        });
    }

    #[test]
    fn it_serves_once_opened_and_ends_before_it_answers_exit() {
        with_daemon("router", |ask, middleware, _| {
            assert_eq!(ask(OPEN), json!({"id": 1, "ok": {}}));
            assert_eq!(middleware.serving.load(Ordering::SeqCst), 1);
            assert_eq!(ask(&OPEN.replace("\"id\":1", "\"id\":2"))["error"]["kind"], "invalid");
            assert_eq!(ask(r#"{"id":3,"cmd":"collect"}"#)["error"]["kind"], "unsupported");
            assert_eq!(ask(r#"{"id":4,"cmd":"frobnicate"}"#)["error"]["kind"], "unsupported");
            assert_eq!(ask(r#"{"id":5,"cmd":"exit"}"#), json!({"id": 5, "ok": {}}));
            assert_eq!(middleware.serving.load(Ordering::SeqCst), 0);
        });
    }

    #[test]
    fn it_ends_in_order_at_the_end_of_file() {
        with_daemon("router", |ask, _, socket| {
            ask(OPEN);
            socket.shutdown(Shutdown::Both).unwrap();
        });
    }

    #[test]
    fn what_the_middleware_refuses_is_answered_in_its_words() {
        with_daemon("rooter", |ask, _, _| {
            assert_eq!(ask(OPEN)["error"]["object"], "daemon");
            assert_eq!(ask(&OPEN.replace("\"ab\"", "\"xyz\""))["error"]["object"], "trial_nonce");
            ask(r#"{"id":9,"cmd":"exit"}"#);
        });
    }
}
