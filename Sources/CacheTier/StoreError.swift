package import Redis

/// Why an observation was not applied. Whatever was done before it failed is mended by applying the observation again.
package enum StoreError: Error, Sendable, Hashable, CustomStringConvertible {
    case redis(RedisError)
    /// Others changed the same lineage each time.
    case contended
    /// What is stored is not what this version writes.
    case unreadable(key: String, reason: String, isNewer: Bool)
    /// Redis holds a store of another shape.
    case wrongLayout(found: String)

    /// Whether applying the same observation later may succeed without anybody changing it.
    package var isRetryable: Bool {
        switch self {
        case .redis(let error): error.isRetryable
        case .contended: true
        // During an upgrade the newer version will be here soon.
        case .unreadable(_, _, let isNewer): isNewer
        case .wrongLayout: false
        }
    }

    package var description: String {
        switch self {
        case .redis(let error): "\(error)"
        case .contended: "others changed the lineage each time"
        case .unreadable(let key, let reason, _): "\(key): \(reason)"
        case .wrongLayout(let found):
            "Redis holds a store of layout \"\(found)\", this version has "
                + "\"\(StorageLayout.version) \(StorageLayout.partitions)\""
        }
    }
}

extension RedisError {
    /// Whether a key is of another type than whoever wrote it last should have made it: somebody else did.
    var isWrongType: Bool { code == .refused && message.hasPrefix("WRONGTYPE") }
}
