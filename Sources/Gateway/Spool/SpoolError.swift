package import Runtime

/// Why the spool could not do what was asked. Whoever asked must not acknowledge anything on the strength of it.
package enum SpoolError: Error, Sendable, CustomStringConvertible {
    /// The limit of bytes is reached, or the disk has no room left.
    case full
    /// Too many appends wait for the disk already.
    case congested
    /// The disk refused a call; nothing of this append may be trusted.
    case disk(SystemError)
    /// The disk has not answered for too long. The record may turn up nevertheless.
    case stalled
    /// One record is larger than a segment.
    case tooLarge
    /// Another process holds the folder.
    case locked(folder: String, holder: String)
    /// Not opened yet, or closed already.
    case closed

    package var description: String {
        switch self {
        case .full: "the spool is full"
        case .congested: "too many appends wait for the spool's disk"
        case .disk(let error): "the spool's disk failed: \(error)"
        case .stalled: "the spool's disk does not answer"
        case .tooLarge: "a record is larger than a segment of the spool"
        case .locked(let folder, let holder): "the spool folder \(folder) is in use by process \(holder)"
        case .closed: "the spool is closed"
        }
    }

    /// A short name for metrics and logs.
    package var reason: String {
        switch self {
        case .full: "full"
        case .congested: "congested"
        case .disk: "disk"
        case .stalled: "stalled"
        case .tooLarge: "too_large"
        case .locked: "locked"
        case .closed: "closed"
        }
    }
}
