//! A file of `/proc` or `/sys` that stays open: reading it again from its beginning costs a
//! fraction of opening it, and an open file below `/proc/PID` never describes another process that
//! got the same number.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A shorter content is complete after one call.
const WHOLE_BYTES: usize = 2048;

#[derive(Debug)]
pub struct Kept {
    file: File,
    buffer: Vec<u8>,
}

impl Kept {
    pub fn open(path: impl AsRef<Path>) -> io::Result<Kept> {
        Ok(Kept { file: File::open(path)?, buffer: vec![0; 4096] })
    }

    /// For a file of one short line, of which there are many.
    pub fn small(path: impl AsRef<Path>) -> io::Result<Kept> {
        Ok(Kept { file: File::open(path)?, buffer: vec![0; 128] })
    }

    /// The whole present content. If the text is not UTF-8, characters that are not ASCII read as
    /// `?`: a command's name may have any bytes.
    pub fn read(&mut self) -> io::Result<&str> {
        let mut length = 0;
        loop {
            if length == self.buffer.len() {
                self.buffer.resize(2 * length, 0);
            }
            match self.file.read_at(&mut self.buffer[length..], length as u64) {
                Ok(0) => break,
                // The kernel fills a page before it returns a part of such a file, and no line
                // takes half of one.
                Ok(count) if length == 0 && count < WHOLE_BYTES.min(self.buffer.len()) => {
                    length = count;
                    break;
                }
                Ok(count) => length += count,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        if std::str::from_utf8(&self.buffer[..length]).is_err() {
            self.buffer[..length]
                .iter_mut()
                .filter(|byte| !byte.is_ascii())
                .for_each(|byte| *byte = b'?');
        }
        std::str::from_utf8(&self.buffer[..length])
            .map_err(|_| io::Error::from(io::ErrorKind::InvalidData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_file_is_read_again_from_its_beginning() {
        let mut stat = Kept::open("/proc/self/stat").unwrap();
        let first = stat.read().unwrap().to_string();
        assert!(first.starts_with(&std::process::id().to_string()));
        assert!(stat.read().unwrap().starts_with(&std::process::id().to_string()));
    }

    #[test]
    fn a_file_larger_than_the_buffer_is_read_whole() {
        let mut smaps = Kept::open("/proc/self/smaps").unwrap();
        let text = smaps.read().unwrap();
        assert!(text.len() > 4096 && text.ends_with('\n') && text.contains("VmFlags"));
    }

    #[test]
    fn a_process_that_ended_reads_as_an_error() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let mut stat = Kept::open(format!("/proc/{}/stat", child.id())).unwrap();
        child.wait().unwrap();
        assert!(stat.read().is_err());
    }
}
