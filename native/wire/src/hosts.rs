//! Caches hosts by their settings.
//!
//! A kernel is plain data and sends its settings with every call. The door makes a host from them once (opens the
//! workspace, checks the policy) and looks it up by the settings' bytes.

use beamai_base::{Reason, Result, ToolError};
use beamai_engine::{Host, HostSettings};
use beamai_tool::Services;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// Maximum number of cached hosts; the oldest is evicted and made again when needed.
const MOST: usize = 256;

pub(crate) struct Hosts {
    kept: RwLock<HostCache>,
    services: Arc<Services>,
}

#[derive(Default)]
struct HostCache {
    by_settings: HashMap<Vec<u8>, (u64, Arc<Host>)>,
    made: u64,
}

thread_local! {
    /// The host that this thread used last: most calls of a thread are for one kernel, and comparing bytes is cheaper
    /// than hashing them.
    static LAST: RefCell<Option<(Vec<u8>, Arc<Host>)>> = const { RefCell::new(None) };
}

impl Hosts {
    /// An empty cache, for a door with these services.
    pub(crate) fn new(services: Services) -> Self {
        Self { kept: RwLock::default(), services: Arc::new(services) }
    }

    /// The host of these settings, if it is cached. Fast.
    pub(crate) fn get(&self, settings: &[u8]) -> Option<Arc<Host>> {
        LAST.with_borrow_mut(|last| {
            if let Some((known, host)) = last
                && known == settings
            {
                return Some(Arc::clone(host));
            }
            let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner);
            let host = Arc::clone(&kept.by_settings.get(settings)?.1);
            *last = Some((settings.to_owned(), Arc::clone(&host)));
            Some(host)
        })
    }

    /// The host of these settings, made if necessary.
    pub(crate) fn get_or_make(&self, settings: &[u8]) -> Result<Arc<Host>> {
        match self.get(settings) {
            Some(host) => Ok(host),
            None => self.make(settings),
        }
    }

    fn make(&self, settings: &[u8]) -> Result<Arc<Host>> {
        let host = Arc::new(Host::new(&parse(settings)?, Arc::clone(&self.services))?);
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        if kept.by_settings.len() >= MOST {
            let oldest =
                kept.by_settings.iter().min_by_key(|(_, (made, _))| *made).map(|(key, _)| key.clone());
            oldest.and_then(|key| kept.by_settings.remove(&key));
        }
        kept.made += 1;
        let made = kept.made;
        kept.by_settings.insert(settings.to_owned(), (made, Arc::clone(&host)));
        Ok(host)
    }
}

fn parse(settings: &[u8]) -> Result<HostSettings> {
    let wrong = |why: String| {
        ToolError::new(Reason::InvalidArgument, format!("the kernel's settings are not valid: {why}"))
    };
    let value = crate::decode(settings).map_err(|error| wrong(error.to_string()))?;
    serde_json::from_value(value).map_err(|error| wrong(error.to_string()))
}
