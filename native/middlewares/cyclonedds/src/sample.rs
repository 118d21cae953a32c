//! A sample that was taken, serialised: it is in Cyclone's buffer, or in the chunk of shared memory
//! that came over PSMX.

use cyclors::*;
use rmwbench_cyclone::intake::{Message, Taken};
use rmwbench_cyclone::sys::Handle;
use rmwbench_cyclone::wire::ENCAPSULATION_BYTES;

use crate::locals::Heard;

pub struct Sample {
    sample: *mut ddsi_serdata,
    /// The owner of the bytes of a sample that is not lent.
    reference: Option<(*mut ddsi_serdata, iovec)>,
    body: *const [u8],
    writer: dds_instance_handle_t,
}

impl Message for Sample {
    type Heard = Heard;

    #[inline]
    fn take(reader: Handle) -> Taken<Self> {
        let mut sample = std::ptr::null_mut::<ddsi_serdata>();
        // SAFETY: plain data that Cyclone fills for the sample taken.
        let mut info: dds_sample_info_t = unsafe { std::mem::zeroed() };
        // SAFETY: one place each.
        if unsafe { dds_takecdr(reader, &mut sample, 1, &mut info, DDS_ANY_STATE) } <= 0 {
            return Taken::Nothing;
        }
        if !info.valid_data {
            // SAFETY: the take gave us one reference.
            unsafe { ddsi_serdata_unref(sample) };
            return Taken::NoData;
        }
        // SAFETY: a valid sample, which holds its loan until it is released; the metadata of the
        // loan has its size, and other bytes are kept by a further reference until `to_ser_unref`.
        let (reference, body) = unsafe {
            match (*sample).loan.as_ref() {
                Some(loan) => {
                    let bytes = (*loan.metadata).sample_size as usize;
                    let body = std::ptr::slice_from_raw_parts(loan.sample_ptr.cast::<u8>(), bytes);
                    (None, body)
                }
                None => {
                    let mut cdr = iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
                    let bytes = ddsi_serdata_size(sample) as usize;
                    let reference = ddsi_serdata_to_ser_ref(sample, 0, bytes, &mut cdr);
                    let cdr_bytes =
                        std::slice::from_raw_parts(cdr.iov_base.cast::<u8>(), cdr.iov_len);
                    let body = cdr_bytes.get(ENCAPSULATION_BYTES..).unwrap_or_default();
                    (Some((reference, cdr)), std::ptr::from_ref(body))
                }
            }
        };
        Taken::Message(Sample { sample, reference, body, writer: info.publication_handle })
    }

    #[inline]
    fn hear(&self, heard: &Heard) {
        heard.hear(self.writer);
    }

    #[inline]
    fn body(&self) -> &[u8] {
        // SAFETY: bytes of the sample, which this holds.
        unsafe { &*self.body }
    }

    #[inline]
    fn is_lent(&self) -> bool {
        self.reference.is_none()
    }
}

impl Drop for Sample {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: ours until here.
        unsafe {
            if let Some((reference, cdr)) = &self.reference {
                ddsi_serdata_to_ser_unref(*reference, cdr);
            }
            ddsi_serdata_unref(self.sample);
        }
    }
}
