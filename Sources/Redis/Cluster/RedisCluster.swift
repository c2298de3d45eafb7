internal import Runtime
internal import Synchronization

/// A Redis Cluster as one link: each command goes to the server that has its key's slot, over one client a server.
///
/// What a node refuses because the slot is elsewhere, is moving or is served by nobody at the moment was not carried out,
/// so it is sent again, to where it belongs, within the command's deadline. What may have been carried out (no reply
/// came) is never sent again from here, a read neither: whoever sent it knows whether that is harmless. The store's
/// scripts are compare-and-set and the consumer's messages come again, so there it is.
///
/// A cluster of which a slot is served by nobody counts as not connected, as its own nodes see it by default: nothing is
/// taken in that cannot be finished.
package actor RedisCluster: RedisLink {
    package nonisolated let name: String
    package nonisolated let commandTimeout: Duration
    private let settings: RedisSettings
    private let loop: EventLoop
    private let metrics: Metrics
    private let log: Log
    /// For the clients, which name themselves.
    private let clientLog: Log
    private let connected = Atomic(false)
    private let generation = Atomic(0)
    private let redirections: Counter

    private struct Node {
        let client: RedisClient
        /// Ends with the first attempt to connect.
        let started: Task<Void, Never>
    }

    private var nodes: [RedisAddress: Node] = [:]
    private var map = SlotMap()
    /// Whether the nodes themselves say that the cluster works.
    private var isWorking = false
    private var isClosed = false
    private var refreshing: Task<Void, Never>?
    private var watch: Task<Void, Never>?
    private var wake: CheckedContinuation<Void, Never>?
    private var isAskedToLook = false
    private var connectionWaiters: [Int: CheckedContinuation<Bool, Never>] = [:]
    private var lastWaiter = 0
    private var lastFailure = RedisError(.unreachable, "not started")

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }
    package nonisolated var isConnected: Bool { connected.load(ordering: .acquiring) }
    package nonisolated var connections: Int { generation.load(ordering: .acquiring) }
    package nonisolated var takesManySlots: Bool { false }

    /// The most redirections of one command: more means that the nodes do not agree, and time may mend that.
    private static let mostTurns = 16

    init(name: String, settings: RedisSettings, loop: EventLoop, metrics: Metrics, log: Log) {
        self.name = name
        self.settings = settings
        self.loop = loop
        self.metrics = metrics
        self.log = log.part("redis").with(["client": .init(name)])
        clientLog = log
        commandTimeout = settings.commandTimeout
        redirections = metrics.counter(
            "holdfast_redis_redirections_total", "Commands that a cluster's node sent elsewhere or told to wait.",
            labels: ["client": name])
    }

    // MARK: Commands

    package func send(_ arguments: [RedisArgument], timeout: Duration?) async throws(RedisError) -> RedisReply {
        let deadline = ContinuousClock.now + (timeout ?? commandTimeout)
        if let key = CommandKey.of(arguments) {
            return try await route(.command(arguments), slot: HashSlot.of(key), until: deadline)
        }
        guard !CommandKey.isAboutAllKeys(arguments) else {
            throw RedisError(.refused, "ERR each server of the cluster has to be asked")
        }
        guard let node = map.masters.lazy.compactMap({ self.nodes[$0] }).first(where: \.client.isConnected) else {
            throw isClosed ? RedisError(.closed) : lastFailure
        }
        return try await node.client.send(arguments, timeout: timeout)
    }

    package func evaluate(
        _ script: RedisScript, keys: [String], arguments: [RedisArgument]
    ) async throws(RedisError) -> RedisReply {
        guard let first = keys.first else { throw RedisError(.refused, "ERR a script without keys belongs nowhere") }
        return try await route(
            .script(script, keys, arguments), slot: HashSlot.of(Array(first.utf8)), until: .now + commandTimeout)
    }

    private enum Request {
        case command([RedisArgument])
        case script(RedisScript, [String], [RedisArgument])
    }

    private func route(
        _ request: Request, slot: Int, until deadline: ContinuousClock.Instant
    ) async throws(RedisError) -> RedisReply {
        var target = map.owner(of: slot)
        var isAsking = false
        var turns = 0
        while true {
            guard !isClosed else { throw RedisError(.closed) }
            guard let address = target, let client = await client(at: address) else {
                lookSoon()
                throw RedisError(.unreachable, target.map { "\($0) is not connected" } ?? lastFailure.message)
            }
            let failure: RedisError
            do throws(RedisError) {
                let left = max(deadline - .now, .milliseconds(1))
                switch request {
                case .command(let arguments): return try await client.send(arguments, left, asking: isAsking)
                case .script(let script, let keys, let arguments):
                    return try await client.evaluate(script, keys, arguments, left, asking: isAsking)
                }
            } catch {
                failure = error
            }
            guard failure.code == .refused, let refusal = ClusterRefusal(failure.message) else {
                if failure.code != .refused { lookSoon() }
                throw failure
            }
            redirections.increment()
            turns += 1
            guard turns <= Self.mostTurns, .now < deadline else { throw failure }
            switch refusal {
            case .moved(let slot, let host, let port):
                let address = RedisAddress(host: host ?? address.host, port: port)
                take(slot, at: address)
                (target, isAsking) = (address, false)
            case .ask(let host, let port):
                (target, isAsking) = (RedisAddress(host: host ?? address.host, port: port), true)
            case .wait:
                lookSoon()
                let pause = min(.milliseconds(10 << min(turns, 5)), max(deadline - .now, .zero))
                // Cancelled, it ends with the deadline all the same.
                try? await Task.sleep(for: pause)
                (target, isAsking) = (map.owner(of: slot), false)
            }
        }
    }

    /// The client for a server, once it is connected or could not be.
    private func client(at address: RedisAddress) async -> RedisClient? {
        let node = node(at: address)
        if !node.client.isConnected { await node.started.value }
        return node.client.isConnected ? node.client : nil
    }

    // MARK: Servers

    private func node(at address: RedisAddress) -> Node {
        if let node = nodes[address] { return node }
        let client = RedisClient(
            name: "\(name) \(address)", settings: settings, route: .fixed(address), loop: loop, metrics: metrics,
            log: clientLog)
        let started = Task(name: "redis-node") {
            await client.tell { [weak self] isConnected in self?.assumeIsolated { $0.changed(address, isConnected) } }
            await client.start()
        }
        let node = Node(client: client, started: started)
        nodes[address] = node
        return node
    }

    private func changed(_ address: RedisAddress, _ isConnected: Bool) {
        if isConnected, map.masters.contains(address) { generation.wrappingAdd(1, ordering: .releasing) }
        if !isConnected { lookSoon() }
        judge()
    }

    /// A node said that the slot is at `address` now.
    private func take(_ slot: Int, at address: RedisAddress) {
        lookSoon()
        guard map.owner(of: slot) != address else { return }
        map.give(slot, to: address)
        generation.wrappingAdd(1, ordering: .releasing)
        judge()
    }

    private func adopt(_ found: SlotMap, isWorking: Bool) {
        if found != map {
            log.info(
                "the cluster's slots lie so",
                ["masters": .init(found.masters.map(\.description).joined(separator: " "))])
            map = found
            generation.wrappingAdd(1, ordering: .releasing)
            for (address, node) in nodes where !map.servers.contains(address) {
                nodes[address] = nil
                Task(name: "redis-node-drain") { await node.client.drain() }
            }
            for address in map.servers { _ = node(at: address) }
        }
        self.isWorking = isWorking
        judge()
    }

    /// Sets `isConnected`.
    private func judge() {
        let isThere =
            isWorking && !isClosed && map.isComplete
            && map.masters.allSatisfy { nodes[$0]?.client.isConnected == true }
        guard isThere != connected.exchange(isThere, ordering: .acquiringAndReleasing) else { return }
        if isThere {
            log.info("connected to the whole cluster", ["masters": .init(map.masters.count)])
        } else if !isClosed {
            let absent = map.masters.filter { nodes[$0]?.client.isConnected != true }
            lastFailure = RedisError(
                .unreachable, absent.isEmpty ? "the cluster is down" : "no connection to \(absent.map(\.description))")
            log.warning("not connected to the whole cluster", ["reason": .init(lastFailure)])
        }
        guard isThere || isClosed else { return }
        for waiter in connectionWaiters.values { waiter.resume(returning: isThere) }
        connectionWaiters = [:]
    }

    // MARK: Who has what

    private func lookSoon() {
        isAskedToLook = true
        wake.take()?.resume()
    }

    private func keepLooking() async {
        while !isClosed {
            isAskedToLook = false
            await refresh()
            // At most so often, whatever happens.
            try? await Task.sleep(for: .milliseconds(100))
            let pause = isConnected ? settings.topologyEvery : min(settings.topologyEvery, .milliseconds(500))
            if isAskedToLook || isClosed { continue }
            loop.schedule(after: pause) { [weak self] in self?.assumeIsolated { $0.wake.take()?.resume() } }
            await withCheckedContinuation { wake = $0 }
        }
    }

    /// Asks all nodes that can be asked, once for however many want to know.
    private func refresh() async {
        if let refreshing { return await refreshing.value }
        let task = Task(name: "redis-topology") { await look() }
        refreshing = task
        await task.value
        refreshing = nil
    }

    private func look() async {
        var asked = nodes.filter(\.value.client.isConnected)
        if asked.isEmpty {
            for seed in settings.seeds { asked[seed] = node(at: seed) }
        }
        let answers = await withTaskGroup(of: Result<ClusterView, RedisError>.self) { group in
            for (address, node) in asked {
                group.addTask {
                    await node.started.value
                    do throws(RedisError) { return .success(try await ClusterView(of: node.client, at: address)) } catch
                    {
                        return .failure(error)
                    }
                }
            }
            var answers: [Result<ClusterView, RedisError>] = []
            for await answer in group { answers.append(answer) }
            return answers
        }
        guard !isClosed else { return }
        if let best = answers.compactMap({ try? $0.get() }).max(by: { $0.isLessTrusted(than: $1) }) {
            return adopt(best.map, isWorking: best.isWorking)
        }
        isWorking = false
        for case .failure(let error) in answers { lastFailure = RedisError(.unreachable, error.message) }
        judge()
    }

    /// The masters. While slots move, keys may be on their way from one to another: then `connections` changes.
    package func parts() async throws(RedisError) -> [any RedisCommands] {
        await refresh()
        var servers: [RedisClient] = []
        for address in map.masters {
            guard let client = nodes[address]?.client, client.isConnected else {
                throw RedisError(.unreachable, "\(address) is not connected")
            }
            servers.append(client)
        }
        guard !servers.isEmpty else { throw isClosed ? RedisError(.closed) : lastFailure }
        let moving = await withTaskGroup(of: Result<Bool, RedisError>.self) { group in
            for server in servers {
                group.addTask {
                    do throws(RedisError) { return .success(try await ClusterView.isMovingSlots(server)) } catch {
                        return .failure(error)
                    }
                }
            }
            var answers: [Result<Bool, RedisError>] = []
            for await answer in group { answers.append(answer) }
            return answers
        }
        var isMoving = false
        for answer in moving where try answer.get() { isMoving = true }
        if isMoving { generation.wrappingAdd(1, ordering: .releasing) }
        return servers
    }

    // MARK: Service

    package func start() async {
        guard watch == nil, !isClosed else { return }
        await refresh()
        for address in map.masters { await nodes[address]?.started.value }
        watch = Task(name: "redis-cluster") { await keepLooking() }
    }

    package func waitUntilConnected(within patience: Duration) async -> Bool {
        if isConnected { return true }
        if isClosed { return false }
        return await withCheckedContinuation { continuation in
            lastWaiter += 1
            let waiter = lastWaiter
            connectionWaiters[waiter] = continuation
            loop.schedule(after: patience) { [weak self] in
                self?.assumeIsolated { $0.connectionWaiters.removeValue(forKey: waiter)?.resume(returning: false) }
            }
        }
    }

    package func drain() async {
        let clients = end()
        await withDiscardingTaskGroup { group in
            for client in clients { group.addTask { await client.drain() } }
        }
    }

    package func close() async {
        for client in end() { await client.close() }
    }

    private func end() -> [RedisClient] {
        guard !isClosed else { return [] }
        isClosed = true
        lastFailure = RedisError(.closed)
        judge()
        for waiter in connectionWaiters.values { waiter.resume(returning: false) }
        connectionWaiters = [:]
        wake.take()?.resume()
        return nodes.values.map(\.client)
    }
}
