internal import JSON
internal import Synchronization
package import Time

/// The last few bodies that were refused, for whoever wonders what it was: a ring, so that no sender can fill anything.
package final class RefusalSamples: Sendable {
    package struct Sample: Sendable, Hashable {
        package var time: Timestamp
        package var app: String
        package var reason: String
        package var detail: String
        package var peer: String
        package var correlation: String
        package var size: Int
        /// The beginning of the body, what is not UTF-8 replaced.
        package var beginning: String
    }

    private struct Ring {
        var samples: [Sample] = []
        var oldest = 0
    }

    private static let beginningBytes = 512
    private let capacity: Int
    private let ring = Mutex(Ring())

    package init(capacity: Int = 32) { self.capacity = max(1, capacity) }

    func add(
        time: Timestamp, app: String, reason: String, detail: String, peer: String, correlation: String, body: [UInt8]
    ) {
        let sample = Sample(
            time: time, app: app, reason: reason, detail: detail, peer: peer, correlation: correlation,
            size: body.count, beginning: String(decoding: body.prefix(Self.beginningBytes), as: UTF8.self))
        ring.withLock { ring in
            if ring.samples.count < capacity {
                ring.samples.append(sample)
            } else {
                ring.samples[ring.oldest] = sample
                ring.oldest = (ring.oldest + 1) % capacity
            }
        }
    }

    /// Oldest first.
    package var samples: [Sample] {
        ring.withLock { ring in Array(ring.samples[ring.oldest...] + ring.samples[..<ring.oldest]) }
    }

    /// All samples as a JSON document.
    package var json: [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.key("refused")
        json.beginArray()
        for sample in samples {
            json.beginObject()
            json.member("time", sample.time.rfc3339)
            json.member("app", sample.app)
            json.member("reason", sample.reason)
            json.member("detail", sample.detail)
            json.member("peer", sample.peer)
            json.member("correlation", sample.correlation)
            json.member("size", sample.size)
            json.member("beginning", sample.beginning)
            json.endObject()
        }
        json.endArray()
        json.endObject()
        return json.bytes
    }
}
