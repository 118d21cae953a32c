//! Shared memory without a name: a memfd that is passed by descriptor and disappears with its last
//! process.

use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;

use rustix::fs::{ftruncate, memfd_create, MemfdFlags};
use rustix::io::Errno;
use rustix::mm::{madvise, mmap, munmap, Advice, MapFlags, ProtFlags};

pub struct Map {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the content of the map is accessed through atomics, or is owned by one side at a time by
// the protocol of pool and queue.
unsafe impl Send for Map {}
unsafe impl Sync for Map {}

impl Map {
    /// A new zeroed segment; `name` is what the process's memory map shows.
    pub fn create(name: &str, bytes: usize) -> Result<(Map, OwnedFd), Errno> {
        let fd = memfd_create(name, MemfdFlags::CLOEXEC)?;
        ftruncate(&fd, bytes as u64)?;
        Ok((Map::open(&fd, bytes)?, fd))
    }

    /// Maps a peer's segment; refuses one that is smaller than `bytes`.
    pub fn open(fd: impl AsFd, bytes: usize) -> Result<Map, Errno> {
        let size = rustix::fs::fstat(&fd)?.st_size;
        if (size as u64) < bytes as u64 {
            return Err(Errno::INVAL);
        }
        // SAFETY: a fresh shared mapping of a file of at least that size.
        let base = unsafe {
            mmap(
                std::ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                fd,
                0,
            )
        }?;
        Ok(Map { base: NonNull::new(base.cast()).expect("mmap returned null"), bytes })
    }

    /// Faults a range in, so that the first messages do not have to; without effect on kernels
    /// before 5.14.
    pub fn populate(&self, offset: usize, bytes: usize) {
        let start = offset / 4096 * 4096;
        let end = (offset + bytes).div_ceil(4096) * 4096;
        // SAFETY: populating changes no content; the range is cut to the map.
        let _ = unsafe {
            madvise(
                self.base.as_ptr().add(start).cast(),
                end.min(self.bytes) - start,
                Advice::LinuxPopulateWrite,
            )
        };
    }

    #[inline]
    pub fn pointer(&self, offset: usize) -> *mut u8 {
        debug_assert!(offset <= self.bytes);
        // SAFETY: within the map, or one past its end.
        unsafe { self.base.as_ptr().add(offset) }
    }

    /// The atomic at `offset`, which must be aligned and within the map.
    #[inline]
    pub fn atomic<T>(&self, offset: usize) -> &T {
        assert!(offset + size_of::<T>() <= self.bytes && offset.is_multiple_of(align_of::<T>()));
        // SAFETY: checked above; T is an atomic at every call, so shared access is allowed.
        unsafe { &*self.pointer(offset).cast::<T>() }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: nothing borrows from a map that is dropped.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}
