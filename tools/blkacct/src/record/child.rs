// SPDX-License-Identifier: GPL-2.0
//! The command that a recording is made of, and the signals meanwhile.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{self, Command, ExitStatus};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use rustix::process::{kill_process, Pid, Signal};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;

/// What happens while it is waited for the next sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The terminal's signal to end, which a command that runs has got itself.
    Interrupt,
    /// A signal to end.
    End(Signal),
    /// The signal to save the ring.
    Save,
    /// A child has ended.
    Child,
}

/// Signals, one after the other.
pub struct Events(Receiver<Event>);

impl Events {
    /// Catches signals from now on.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn new() -> anyhow::Result<Self> {
        let mut signals =
            Signals::new([SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD]).context("signals")?;
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            for signal in signals.forever() {
                let event = match signal {
                    SIGINT => Event::Interrupt,
                    SIGTERM => Event::End(Signal::TERM),
                    SIGHUP => Event::End(Signal::HUP),
                    SIGUSR1 => Event::Save,
                    _ => Event::Child,
                };
                if sender.send(event).is_err() {
                    return;
                }
            }
        });
        Ok(Events(receiver))
    }

    /// Returns the next, if it comes within this time.
    ///
    /// # Errors
    ///
    /// That the time is over.
    pub fn within(&self, time: Duration) -> Result<Event, RecvTimeoutError> {
        self.0.recv_timeout(time)
    }
}

/// The command that runs.
pub struct Child {
    child: process::Child,
    status: Option<ExitStatus>,
}

impl Child {
    /// Runs a command, its name first.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn spawn(command: &[OsString]) -> io::Result<Self> {
        let (name, args) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Child {
            child: Command::new(name).args(args).spawn()?,
            status: None,
        })
    }

    /// Passes on what is for the command; returns whether it has ended.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn take(&mut self, event: Event) -> anyhow::Result<bool> {
        let signal = match event {
            Event::End(signal) => signal,
            Event::Save => Signal::USR1,
            Event::Interrupt => return Ok(false),
            Event::Child => {
                self.status = self.child.try_wait().context("the command")?;
                return Ok(self.status.is_some());
            }
        };
        // It is not waited for until it has ended, so the number is its own.
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            kill_process(pid, signal).context("the command")?;
        }
        Ok(false)
    }

    /// Waits for the end of the command; returns its exit status, or 128 and the signal's number.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn wait(&mut self, events: &Events) -> anyhow::Result<u8> {
        while self.status.is_none() {
            let event = events.0.recv().context("signals")?;
            self.take(event)?;
        }
        let status = self.status.context("the command has no status")?;
        let signal = status.signal().unwrap_or_default();
        Ok(u8::try_from(status.code().unwrap_or(128 + signal)).unwrap_or(u8::MAX))
    }
}
