//! The slice of processor time that the scheduler gives the supervisor thread.

use rustix::process::getpriority_process;

/// A little more than a decision takes.
const NANOSECONDS: u64 = 300_000;

/// Makes the slice of this thread short. The thread answers, which wakes the process, and then sleeps. With a short
/// slice the scheduler lets it go to sleep before the process runs. Otherwise the process often runs first, shares its
/// processor with this thread when it loads its program, and is therefore moved to another processor, which takes
/// longer than the decision.
///
/// An optimisation: Linux kernels before 6.12 ignore the length (sched(7), `sched_setattr`).
pub(super) fn shorten() {
    // SAFETY: plain integers, for which zero is valid.
    let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
    attributes.size = size_of::<libc::sched_attr>() as u32;
    attributes.sched_flags = libc::SCHED_FLAG_KEEP_POLICY as u64;
    attributes.sched_nice = getpriority_process(None).unwrap_or(0);
    attributes.sched_runtime = NANOSECONDS;
    // SAFETY: the structure outlives the call, and has the size that it names.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use beamai_sandbox::layers::kernel_is_at_least;

    #[test]
    fn the_slice_of_a_thread_is_short_and_the_rest_is_as_it_was() {
        let attributes = || {
            // SAFETY: plain integers, for which zero is valid.
            let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
            let size = size_of::<libc::sched_attr>();
            // SAFETY: the structure has the size that is given.
            let done = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) };
            assert_eq!(done, 0);
            attributes
        };
        std::thread::spawn(move || {
            let before = attributes();
            shorten();
            let after = attributes();
            assert_eq!((before.sched_policy, before.sched_nice), (after.sched_policy, after.sched_nice));
            assert!(after.sched_runtime == NANOSECONDS || !kernel_is_at_least(6, 12));
        })
        .join()
        .unwrap();
    }
}
