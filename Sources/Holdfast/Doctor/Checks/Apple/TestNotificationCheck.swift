import AppStore
import Broker
import EmbeddedQueue
import EmbeddedStore
import Entitlements
import Runtime
import Time

/// Asks Apple for a test notification and sees it arrive. The one thing that the doctor sets in motion: a notification of
/// type TEST, which changes no record.
struct TestNotificationCheck: Check {
    var name: String { "test, \(access.scope)" }
    let patience = 6
    let access: AppleAccess
    let patient: Patient
    /// For Apple to try, and for the ledger after that; a bit less than the check may take.
    let limit: Duration

    func examine() async -> Finding {
        if let refusal = await access.refusal.answer() { return .notChecked(AppleAccess.excuse(refusal)) }
        // What is in the ledger before it comes need not be looked through.
        let ledger = await newest()
        let (start, began) = (ContinuousClock.now, patient.clock.now())
        let end = start + limit
        let token: String
        let attempt: SendAttempt
        let signedPayload: String?
        do throws(ServerAPIFailure) {
            token = try await access.client.requestTestNotification(.support).testNotificationToken
            guard let status = try await fate(of: token, until: end), let last = status.sendAttempts.last else {
                return .wrong(
                    "Apple has not tried to send it within \(limit.seconds) s",
                    "Apple may be slow: --timeout allows more. https://developer.apple.com/system-status")
            }
            (attempt, signedPayload) = (last, status.signedPayload)
        } catch { return finding(error) }
        let sent = (ContinuousClock.now - start).short
        guard attempt.sendAttemptResult == "SUCCESS" else {
            return SendAttemptResult(attempt.sendAttemptResult).finding(url: url)
        }
        guard let uuid = uuid(in: signedPayload) else {
            return .wrong(
                "Apple signed the test notification with what is not trusted here",
                "See the line on trusted roots; holdfast verify says what is wrong with a payload.")
        }
        if patient.settings.embedded.queue == .embedded {
            let found = await hasArrived(uuid, since: began, within: max(end - .now, limit / 10))
            return found
                ? .fine("Apple says SUCCESS, and the ledger has it: \((ContinuousClock.now - start).short) in all")
                : lost(uuid)
        }
        guard case .success(let offset) = ledger, await takesMessages else {
            return .warning(
                "delivered after \(sent), and not to be seen in the ledger while RabbitMQ takes nothing",
                "It was acknowledged, so it waits in the spool. See the lines on RabbitMQ.")
        }
        let patience = min(.seconds(10), max(end - .now, limit / 10))
        guard let delivery = await arrival(of: uuid, after: offset, within: patience) else { return lost(uuid) }
        let total = (ContinuousClock.now - start).short
        let received = delivery.message.headers["received-at"].flatMap { Timestamp(rfc3339: $0) }
        let taken = received.map { "taken in after \(max(.zero, $0 - began).short), " } ?? ""
        return .fine("\(taken)Apple says SUCCESS, and the ledger has it: \(total) in all")
    }

    private var url: String { "https://YOUR-HOST/apple/\(access.app.id.rawValue)/\(access.environment.rawValue)" }

    /// What Apple says once it has tried; nil if it has not until then.
    private func fate(
        of token: String, until end: ContinuousClock.Instant
    ) async throws(ServerAPIFailure) -> TestNotificationStatusResponse? {
        while ContinuousClock.now < end {
            do throws(ServerAPIFailure) {
                let status = try await access.client.testNotificationStatus(token, .support)
                if !status.sendAttempts.isEmpty { return status }
            } catch {
                guard error.code == 4_040_008 || error.kind == .budget || error.kind == .rateLimited else {
                    throw error
                }
            }
            // Cancelled by nobody; Apple's limits space the calls out further.
            try? await Task.sleep(for: .milliseconds(200))
        }
        return nil
    }

    private func uuid(in signedPayload: String?) -> String? {
        guard let signedPayload else { return nil }
        let verifier = patient.settings.appStore.verifier()
        return try? verifier.verify(
            Array(signedPayload.utf8)[...], as: NotificationPayload.self, now: patient.clock.now()
        ).payload.notificationUUID
    }

    // MARK: The ledger

    private var takesMessages: Bool {
        get async {
            do throws(BrokerError) { return try await patient.broker.intake() == .open } catch { return false }
        }
    }

    /// Whether the embedded ledger has it.
    private func hasArrived(_ uuid: String, since began: Timestamp, within patience: Duration) async -> Bool {
        let end = ContinuousClock.now + min(.seconds(10), patience)
        let place = "\(max(0, began.milliseconds - 1000))-0"
        while ContinuousClock.now < end {
            // A file that is made meanwhile.
            let items = try? await patient.settings.withEmbeddedQueue { queue in
                try await queue.ledger(after: place, limit: 10_000)
            }
            if items?.contains(where: { $0.message.messageID == uuid }) ?? false { return true }
            try? await Task.sleep(for: .milliseconds(200))
        }
        return false
    }

    /// The position of its newest message, -1 in an empty one or none.
    private func newest() async -> Result<Int64, BrokerError> {
        do throws(BrokerError) {
            return .success(
                try await patient.broker.readLedger(from: .last, idle: .milliseconds(300)).last?.streamOffset ?? -1)
        } catch {
            return error.code == .notFound ? .success(-1) : .failure(error)
        }
    }

    private func arrival(
        of uuid: String, after offset: Int64, within patience: Duration
    ) async -> BrokerDelivery? {
        let end = ContinuousClock.now + patience
        while ContinuousClock.now < end {
            do throws(BrokerError) {
                return try await patient.broker.waitInLedger(
                    for: uuid, from: offset < 0 ? .first : .offset(offset &+ 1), within: end - .now)
            } catch {
                // A ledger that is made meanwhile, or a broker that comes back.
                try? await Task.sleep(for: .milliseconds(300))
            }
        }
        return nil
    }

    private func lost(_ uuid: String) -> Finding {
        .wrong(
            "Apple says that it was delivered, and it is not in the ledger (notification \(uuid))",
            "Did another system take it? The URL in App Store Connect must be this one's: \(url)",
            "Or it waits in the spool: see the lines on the gateway and RabbitMQ.")
    }

    private func finding(_ failure: ServerAPIFailure) -> Finding {
        switch failure.code {
        case 4_040_007:
            .wrong(
                "App Store Connect has no URL for notifications (\(access.environment.rawValue))",
                "App Store Connect: the app, App Information, App Store Server Notifications, version 2: \(url)")
        default: .wrong("\(failure)", failure.isRetryable ? "Try again." : "Look at what Apple says.")
        }
    }
}
