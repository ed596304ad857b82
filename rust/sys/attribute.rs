// SPDX-License-Identifier: GPL-2.0

//! A named directory of sysfs files below a device.
//!
//! C header: [`include/linux/sysfs.h`](srctree/include/linux/sysfs.h)

use super::{
    bdev::Bdev,
    disk_lock::NoIo, //
};
use core::ptr::null_mut;
use kernel::{
    bindings,
    error::to_result,
    fmt,
    page::PAGE_SIZE,
    prelude::*,
    str::CStr,
    sync::Arc,
    types::Opaque, //
};

/// Text of a file under construction: at most a page.
pub(crate) struct Text<'a> {
    page: &'a mut [u8],
    len: usize,
}

impl fmt::Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len.saturating_add(text.len());
        let room = self.page.get_mut(self.len..end).ok_or(fmt::Error)?;
        for (to, from) in room.iter_mut().zip(text.bytes()) {
            *to = from;
        }
        self.len = end;
        Ok(())
    }
}

/// One file: its name and what reading and writing it does. Process context; may sleep. Who takes
/// the file away waits for either, so memory is without I/O meanwhile.
pub(crate) struct File<T: 'static> {
    pub(crate) name: &'static CStr,
    /// Writes the file's text; an overflow is `EIO`.
    pub(crate) show: fn(&T, &mut Text<'_>) -> Result,
    /// Takes what was written, as it came; `None` for a read-only file.
    pub(crate) store: Option<fn(&T, &[u8]) -> Result>,
}

/// The kernel's side of a file.
///
/// # Invariants
///
/// `file` and `owner` outlive the registration.
#[repr(C)]
struct Entry<T: 'static> {
    attribute: Opaque<bindings::device_attribute>,
    file: &'static File<T>,
    owner: *const T,
}

/// A directory while it is there; dropping it removes the files, and waits for those who use one.
///
/// # Invariants
///
/// `group` is registered at the device of `bdev`; it refers to `_entries` and `_pointers`, which do
/// not move, and each entry's owner is `_owner`.
pub(crate) struct Directory<T: 'static> {
    bdev: Bdev,
    group: KBox<Opaque<bindings::attribute_group>>,
    _pointers: KVec<*mut bindings::attribute>,
    _entries: KVec<Entry<T>>,
    _owner: Arc<T>,
}

// SAFETY: The files' functions take `&T` on any thread; the pointers are to our own memory.
unsafe impl<T: Send + Sync> Send for Directory<T> {}
// SAFETY: As above.
unsafe impl<T: Send + Sync> Sync for Directory<T> {}

impl<T: Send + Sync> Directory<T> {
    /// Makes the directory `name` with `files` below the device of `bdev`; if `private`, others
    /// than root and its group cannot open them. May sleep.
    ///
    /// # Errors
    ///
    /// `EEXIST` if there is one of that name; `ENOMEM`.
    pub(crate) fn new(
        bdev: &Bdev,
        name: &'static CStr,
        files: &'static [File<T>],
        owner: Arc<T>,
        private: bool,
    ) -> Result<Self> {
        let mut entries = KVec::with_capacity(files.len(), GFP_KERNEL)?;
        let mut pointers = KVec::with_capacity(files.len() + 1, GFP_KERNEL)?;
        for file in files {
            entries.push(
                Entry {
                    attribute: Opaque::new(attribute(file, private)),
                    file,
                    owner: Arc::as_ptr(&owner),
                },
                GFP_KERNEL,
            )?;
        }
        for entry in &entries {
            pointers.push(
                entry.attribute.get().cast::<bindings::attribute>(),
                GFP_KERNEL,
            )?;
        }
        pointers.push(null_mut(), GFP_KERNEL)?;

        let group = KBox::new(
            Opaque::new(bindings::attribute_group {
                name: name.as_char_ptr(),
                __bindgen_anon_2: bindings::attribute_group__bindgen_ty_2 {
                    attrs: pointers.as_mut_ptr(),
                },
                ..Default::default()
            }),
            GFP_KERNEL,
        )?;
        // SAFETY: The device is live; group, pointers and entries stay until `drop`.
        to_result(unsafe { bindings::sysfs_create_group(bdev.kobject(), group.get()) })?;
        // INVARIANT: Just registered; a `KVec`'s elements do not move with it.
        Ok(Self {
            bdev: bdev.clone(),
            group,
            _pointers: pointers,
            _entries: entries,
            _owner: owner,
        })
    }
}

impl<T: 'static> Drop for Directory<T> {
    fn drop(&mut self) {
        // SAFETY: Registered by the type invariants. Returns when no file is in use any more.
        unsafe {
            bindings::sysfs_remove_group(self.bdev.kobject(), self.group.get());
        }
    }
}

fn attribute<T: 'static>(file: &'static File<T>, private: bool) -> bindings::device_attribute {
    let mut attr: bindings::attribute = pin_init::zeroed();
    attr.name = file.name.as_char_ptr();
    attr.mode = if file.store.is_some() { 0o644 } else { 0o444 };
    if private {
        attr.mode &= !0o007;
    }
    // A class for attributes that are not static, as sysfs_attr_init() gives them one.
    #[cfg(CONFIG_DEBUG_LOCK_ALLOC)]
    {
        attr.key = kernel::static_lock_class!().as_ptr();
    }
    bindings::device_attribute {
        attr,
        __bindgen_anon_1: bindings::device_attribute__bindgen_ty_1 {
            show: Some(show::<T>),
        },
        __bindgen_anon_2: bindings::device_attribute__bindgen_ty_2 {
            store: match file.store {
                Some(_) => Some(store::<T>),
                None => None,
            },
        },
    }
}

/// Returns the entry that `attribute` is the start of.
///
/// # Safety
///
/// `attribute` is that of an [`Entry<T>`] of a registered [`Directory`].
unsafe fn entry<'a, T: 'static>(attribute: *mut bindings::device_attribute) -> &'a Entry<T> {
    // SAFETY: `Entry` is `repr(C)` and begins with the attribute.
    unsafe { &*attribute.cast::<Entry<T>>() }
}

/// Reads a file.
///
/// # Safety
///
/// Called by sysfs for the attribute of an [`Entry<T>`], with a page to fill.
unsafe extern "C" fn show<T: 'static>(
    _device: *mut bindings::device,
    attribute: *mut bindings::device_attribute,
    page: *mut c_char,
) -> isize {
    let _scope = NoIo::new();
    // SAFETY: sysfs calls this for a registered attribute with a page to fill, and `drop` waits
    // for its return; the owner lives as long as the directory.
    let (entry, owner, page) = unsafe {
        let entry = entry::<T>(attribute);
        let page = core::slice::from_raw_parts_mut(page.cast::<u8>(), PAGE_SIZE);
        (entry, &*entry.owner, page)
    };
    // sysfs wants less than the page.
    let mut text = Text {
        page: &mut page[..PAGE_SIZE - 1],
        len: 0,
    };
    match (entry.file.show)(owner, &mut text) {
        Ok(()) => text.len as isize,
        Err(error) => error.to_errno() as isize,
    }
}

/// Takes what is written to a file.
///
/// # Safety
///
/// Called by sysfs for the attribute of an [`Entry<T>`], with `count` bytes in `buffer`.
unsafe extern "C" fn store<T: 'static>(
    _device: *mut bindings::device,
    attribute: *mut bindings::device_attribute,
    buffer: *const c_char,
    count: usize,
) -> isize {
    let _scope = NoIo::new();
    // SAFETY: As in `show`; `buffer` holds `count` bytes.
    let (entry, owner, written) = unsafe {
        let entry = entry::<T>(attribute);
        let written = core::slice::from_raw_parts(buffer.cast::<u8>(), count);
        (entry, &*entry.owner, written)
    };
    let Some(store) = entry.file.store else {
        return EIO.to_errno() as isize;
    };
    match store(owner, written) {
        Ok(()) => count as isize,
        Err(error) => error.to_errno() as isize,
    }
}
