//! Publishers, subscriptions, clients and services over a table, and the two callbacks that the
//! middleware calls.

use std::ffi::c_void;
use std::ptr::{null_mut, NonNull};
use std::sync::Arc;

use super::raw;
use super::reports::{account, created, granted, published};
use super::requests::EndpointTexts;
use super::session::OpenNode;
use super::table::{slice, Calls, Loans, Message, Services};
use crate::middleware::{
    Account, Delivery, Endpoint, EndpointConfig, Error, Granted, Handler, PublishError, Publisher,
    Reply, Sink, Subscription,
};

/// An object of the middleware that is an endpoint. The callback with which it was created lives as
/// long as it does.
struct Object<T, Callback = ()> {
    object: NonNull<T>,
    calls: Calls<T>,
    _callback: Callback,
    _node: Arc<OpenNode>,
}

// SAFETY: the header allows calls from any thread; calls on one object do not overlap, because they
// take its unique owner.
unsafe impl<T, Callback> Send for Object<T, Callback> {}

impl<T, Callback> Drop for Object<T, Callback> {
    fn drop(&mut self) {
        // SAFETY: created once, destroyed once; its node still exists, and the callback is dropped
        // after this returned.
        unsafe { (self.calls.destroy)(self.object.as_ptr()) }
    }
}

impl<T, Callback> Endpoint for Object<T, Callback> {
    fn matched(&self) -> u32 {
        // SAFETY: the object exists.
        unsafe { (self.calls.matched)(self.object.as_ptr()) }
    }

    fn granted(&self) -> Granted {
        // SAFETY: the object and the place that it fills exist until the call returns.
        granted(|raw| unsafe { (self.calls.granted)(self.object.as_ptr(), raw) })
    }

    fn account(&self) -> Account {
        // SAFETY: as above.
        account(|raw| unsafe { (self.calls.account)(self.object.as_ptr(), raw) })
    }
}

/// Creates an endpoint; `create` gets the node, the configuration and the place for an error.
fn object<T, Callback>(
    node: &Arc<OpenNode>,
    config: &EndpointConfig,
    calls: Calls<T>,
    callback: Callback,
    create: impl FnOnce(*mut raw::Node, &raw::EndpointConfig, *mut raw::Error) -> *mut T,
) -> Result<Object<T, Callback>, Error> {
    let name = format!("endpoint {}", config.endpoint);
    let texts = EndpointTexts::of(config)?;
    let object = texts.with_raw(|raw| created(&name, |error| create(node.as_ptr(), raw, error)))?;
    Ok(Object { object, calls, _callback: callback, _node: node.clone() })
}

pub fn publisher(
    node: &Arc<OpenNode>,
    config: &EndpointConfig,
) -> Result<Box<dyn Publisher>, Error> {
    let table = node.table();
    // SAFETY: the node exists; the configuration and what it points to outlive the call.
    let object = object(node, config, table.publisher, (), |node, raw, error| unsafe {
        (table.publisher_create)(node, raw, error)
    })?;
    Ok(Box::new(Sender { object, send: table.publish, loans: table.loans, message: table.message }))
}

pub fn subscription(
    node: &Arc<OpenNode>,
    config: &EndpointConfig,
    sink: Arc<dyn Sink>,
) -> Result<Box<dyn Subscription>, Error> {
    let table = node.table();
    let (sink, raw_sink) = sink_for_c(sink);
    // SAFETY: as above; the sink lives in the subscription until it was destroyed.
    let create = |node, raw: &raw::EndpointConfig, error| unsafe {
        (table.subscription_create)(node, raw, &raw_sink, error)
    };
    Ok(Box::new(object(node, config, table.subscription, sink, create)?))
}

pub fn client(
    node: &Arc<OpenNode>,
    config: &EndpointConfig,
    sink: Arc<dyn Sink>,
) -> Result<Box<dyn Publisher>, Error> {
    let services = services(node, config)?;
    let (sink, raw_sink) = sink_for_c(sink);
    // SAFETY: as for a subscription.
    let create = |node, raw: &raw::EndpointConfig, error| unsafe {
        (services.client_create)(node, raw, &raw_sink, error)
    };
    let object = object(node, config, services.client, sink, create)?;
    let message = services.request_message;
    Ok(Box::new(Sender { object, send: services.request, loans: None, message }))
}

pub fn service(
    node: &Arc<OpenNode>,
    config: &EndpointConfig,
    handler: Arc<dyn Handler>,
) -> Result<Box<dyn Endpoint>, Error> {
    let services = services(node, config)?;
    let handler = Box::new(Served { handler, message: services.reply_message });
    let raw_handler = raw::Handler { context: (&raw const *handler).cast_mut().cast(), handle };
    // SAFETY: as for a subscription.
    let create = |node, raw: &raw::EndpointConfig, error| unsafe {
        (services.service_create)(node, raw, &raw_handler, error)
    };
    Ok(Box::new(object(node, config, services.service, handler, create)?))
}

fn services(node: &Arc<OpenNode>, config: &EndpointConfig) -> Result<Services, Error> {
    let none = || {
        Error::unsupported(
            format!("endpoint {}", config.endpoint),
            "services: not implemented in this worker",
        )
    };
    node.table().services.ok_or_else(none)
}

impl<Callback> Subscription for Object<raw::Subscription, Callback> {}

/// A publisher, or the sending side of a client.
struct Sender<T, Callback> {
    object: Object<T, Callback>,
    send: raw::Send<T>,
    loans: Option<Loans>,
    message: Option<Message<T>>,
}

impl<T, Callback> Endpoint for Sender<T, Callback> {
    fn matched(&self) -> u32 {
        self.object.matched()
    }

    fn granted(&self) -> Granted {
        self.object.granted()
    }

    fn account(&self) -> Account {
        self.object.account()
    }
}

impl<T, Callback> Publisher for Sender<T, Callback> {
    #[inline]
    fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        // SAFETY: the payload is valid for the call, and an empty slice's pointer is not null.
        published(unsafe {
            (self.send)(self.object.object.as_ptr(), payload.as_ptr(), payload.len())
        })
    }

    #[inline]
    fn message(&mut self, bytes: usize) -> Option<NonNull<[u8]>> {
        // SAFETY: the header promises `bytes` of memory that stays until it is published, or NULL.
        let start = unsafe { (self.message?)(self.object.object.as_ptr(), bytes) };
        Some(NonNull::slice_from_raw_parts(NonNull::new(start)?, bytes))
    }

    fn publish_loaned(
        &mut self,
        bytes: usize,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), PublishError> {
        let Some(loans) = self.loans else { return Err(PublishError::Unsupported) };
        // Only a publisher has loans: `publisher` alone sets them.
        let publisher = self.object.object.as_ptr().cast::<raw::Publisher>();
        let mut memory = null_mut();
        // SAFETY: `loan` answers with memory of `bytes` that is ours until `commit`.
        unsafe {
            published((loans.loan)(publisher, bytes, &mut memory))?;
            if memory.is_null() {
                return Err(PublishError::Failed);
            }
            fill(std::slice::from_raw_parts_mut(memory, bytes));
            published((loans.commit)(publisher, memory, bytes))
        }
    }
}

/// A pointer to a `dyn` has two words and C passes one word: hence the box, whose address does not
/// change.
fn sink_for_c(sink: Arc<dyn Sink>) -> (Box<Arc<dyn Sink>>, raw::Sink) {
    let publish_may_wait = i32::from(sink.publish_may_wait());
    let sink = Box::new(sink);
    let raw_sink =
        raw::Sink { context: (&raw const *sink).cast_mut().cast(), deliver, publish_may_wait };
    (sink, raw_sink)
}

unsafe extern "C" fn deliver(context: *mut c_void, delivery: *const raw::Delivery) {
    // SAFETY: the context is the box of `sink_for_c`, which outlives every delivery; the payload is
    // valid for this call.
    let (sink, delivery) = unsafe { (&*context.cast::<Arc<dyn Sink>>(), delivery_of(&*delivery)) };
    sink.deliver(&delivery);
}

unsafe extern "C" fn handle(
    context: *mut c_void,
    request: *const raw::Delivery,
    reply: *const raw::Reply,
) {
    // SAFETY: the context is the box of `service`; request and reply are valid for this call.
    let (served, request, reply) =
        unsafe { (&*context.cast::<Served>(), delivery_of(&*request), &*reply) };
    served.handler.handle(&request, &mut Answer { reply, message: served.message });
}

/// The data that a service's callback needs.
struct Served {
    handler: Arc<dyn Handler>,
    message: Option<Message<c_void>>,
}

/// The answer to one request.
struct Answer<'a> {
    reply: &'a raw::Reply,
    message: Option<Message<c_void>>,
}

impl Reply for Answer<'_> {
    #[inline]
    fn message(&mut self, bytes: usize) -> Option<NonNull<[u8]>> {
        // SAFETY: the header promises `bytes` of memory that stays until it is sent, or NULL.
        let start = unsafe { (self.message?)(self.reply.context, bytes) };
        Some(NonNull::slice_from_raw_parts(NonNull::new(start)?, bytes))
    }

    #[inline]
    fn send(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        // SAFETY: the payload is valid for the call.
        published(unsafe { (self.reply.send)(self.reply.context, payload.as_ptr(), payload.len()) })
    }
}

#[inline]
unsafe fn delivery_of(delivery: &raw::Delivery) -> Delivery<'_> {
    Delivery {
        notified_ns: delivery.notified_ns,
        taken_ns: delivery.taken_ns,
        payload: slice(delivery.payload, delivery.bytes),
        zero_copy: delivery.zero_copy != 0,
        lossy: delivery.lossy != 0,
    }
}
