internal import Runtime

/// The connections of one loop and what they share. It belongs to that loop's thread; `HTTPWorker` isolates it.
final class ConnectionSet {
    let loop: EventLoop
    let settings: HTTPServerSettings
    let handler: any HTTPHandler
    let metrics: HTTPServerMetrics
    let ledger: ConnectionLedger
    let log: Log
    let parserLimits: RequestParser.Limits

    private(set) var connections: [UInt64: Connection] = [:]
    private(set) var isDraining = false
    private var lastID: UInt64 = 0
    private var waitingForEmpty: [CheckedContinuation<Void, Never>] = []
    private var date = HTTPDate()

    /// What a read lands in before the parser takes it: one for all, since only one connection reads at a time.
    var scratch = [UInt8](repeating: 0, count: 64 << 10)

    init(
        loop: EventLoop, settings: HTTPServerSettings, handler: any HTTPHandler, metrics: HTTPServerMetrics,
        ledger: ConnectionLedger, log: Log
    ) {
        self.loop = loop
        self.settings = settings
        self.handler = handler
        self.metrics = metrics
        self.ledger = ledger
        self.log = log
        parserLimits = settings.parserLimits
    }

    func dateNow() -> [UInt8] { date.now() }

    func nextID() -> UInt64 {
        lastID &+= 1
        return lastID
    }

    func add(_ connection: Connection) {
        connections[connection.id] = connection
        metrics.connections.add(1)
    }

    /// Called when a connection is closed and no task works for it any more.
    func remove(_ connection: Connection) {
        guard connections.removeValue(forKey: connection.id) != nil else { return }
        metrics.connections.add(-1)
        ledger.release(connection.peer.group)
        resumeIfEmpty()
    }

    /// From here on every answer closes its connection; those that are between requests are closed now.
    func beginDraining() {
        isDraining = true
        for connection in connections.values { connection.drain() }
    }

    func abort() {
        for connection in connections.values { connection.abort() }
    }

    func notifyWhenEmpty(_ continuation: CheckedContinuation<Void, Never>) {
        waitingForEmpty.append(continuation)
        resumeIfEmpty()
    }

    private func resumeIfEmpty() {
        guard connections.isEmpty else { return }
        for continuation in waitingForEmpty { continuation.resume() }
        waitingForEmpty = []
    }
}
