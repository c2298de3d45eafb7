@unsafe @preconcurrency internal import Dispatch
internal import Glibc

/// What the outside may ask of a running process.
package enum ProcessSignal: Sendable {
    /// SIGTERM or SIGINT.
    case terminate
    /// SIGHUP.
    case reload

    /// The signals of this process from now on; their default actions are switched off, SIGPIPE's too, since a peer that
    /// hangs up must not end us.
    package static func ofThisProcess() -> AsyncStream<ProcessSignal> {
        _ = signal(SIGPIPE, SIG_IGN)
        let (stream, continuation) = AsyncStream.makeStream(
            of: ProcessSignal.self, bufferingPolicy: .bufferingNewest(8))
        let queue = DispatchQueue(label: "signals")
        let sources = [(SIGTERM, ProcessSignal.terminate), (SIGINT, .terminate), (SIGHUP, .reload)].map {
            number, meaning in
            _ = signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { continuation.yield(meaning) }
            source.activate()
            return source
        }
        continuation.onTermination = { _ in for source in sources { source.cancel() } }
        return stream
    }
}
