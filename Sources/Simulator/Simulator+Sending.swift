internal import HTTP
internal import Runtime
internal import Time

/// Notifications on their way.
extension Simulator {
    /// Starts what is due, as many at once as allowed, and sets the alarm for what comes next.
    func pump() {
        guard !isDraining else { return }
        while inFlight < sendLimit, let url = settings.notificationURL, let sending = outbox.take(by: clock.now()) {
            inFlight += 1
            let body = bodies.removeValue(forKey: sending.notification.uuid)
            Task(name: "deliver") { await self.deliver(sending, to: url, body) }
        }
        arm()
    }

    private func deliver(_ sending: Outbox.Sending, to url: String, _ presigned: [UInt8]?) async {
        let result: SendAttempt.Result
        do {
            let body = if let presigned { presigned } else { try await signer.body(of: sending.notification) }
            let response = try await post(body, to: [url] + settings.otherNotificationURLs)
            result = (200...206).contains(response.status) ? .success : .unsuccessfulStatus
        } catch let error as HTTPClientError {
            result = .init(error)
        } catch {
            log.error("notification not signed", ["error": .init(error)])
            result = .other
        }
        let now = clock.now()
        outbox.finish(sending, result, at: now)
        let uuid = sending.notification.uuid
        if !sending.isDuplicate { burst?.finish(uuid, result == .success ? .acknowledged : .failed(result)) }
        record(events.add(sending, result, attempt: outbox.entry(uuid)?.attempts.count ?? 1, at: now))
        inFlight -= 1
        if isDraining, inFlight == 0 { drained.take()?.resume() }
        pump()
    }

    /// To the first of `urls` that accepts a connection.
    private func post(_ body: [UInt8], to urls: [String]) async throws(HTTPClientError) -> HTTPClientResponse {
        var rest = urls[...]
        while true {
            guard let url = rest.popFirst() else { throw HTTPClientError(.unreachable, "no address is left") }
            do throws(HTTPClientError) {
                return try await client.send(
                    HTTPClientRequest(.post, url, headers: ["Content-Type": "application/json"], body: body))
            } catch {
                guard error.code == .unreachable, !rest.isEmpty else { throw error }
            }
        }
    }

    private func arm() {
        disarm()
        // What is due already waits for a POST to end, and that pumps.
        let due = [store.nextDue, inFlight < sendLimit ? outbox.nextDue : nil].compactMap { $0 }.min()
        guard !isDraining, let due else { return }
        let delay = max(.milliseconds(1), due - clock.now())
        timer = loop.schedule(after: min(delay, .seconds(3600))) {
            self.assumeIsolated { simulator in
                simulator.timer = nil
                simulator.tick()
            }
        }
    }

    func disarm() {
        if let timer { loop.cancel(timer) }
        timer = nil
    }
}

extension SendAttempt.Result {
    init(_ error: HTTPClientError) {
        self =
            switch error.code {
            case .timedOut: .timedOut
            case .tls: .tlsIssue
            case .unreachable: .socketIssue
            case .connectionLost: .prematureClose
            case .malformedResponse, .tooLarge: .invalidResponse
            case .invalidRequest, .overloaded, .cancelled, .failed: .other
            }
    }
}
