package import Runtime

/// Sends requests by libcurl on an event loop and keeps connections open between them.
///
/// HTTP/2 where the peer has it, TLS 1.2 at least; no redirects, no proxy from the environment, no cookies.
package actor HTTPClient {
    private let settings: HTTPClientSettings
    private let loop: EventLoop
    private var driver: HTTPClientDriver?
    private var lastNumber: UInt64 = 0

    nonisolated package var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    package init(settings: HTTPClientSettings = HTTPClientSettings(), loop: EventLoop) {
        self.settings = settings
        self.loop = loop
    }

    isolated deinit { driver?.close() }

    /// Returns the answer, whatever its status. A cancelled task's request ends with `cancelled`; whether the peer has
    /// seen it by then is unknown.
    package func send(_ request: HTTPClientRequest) async throws(HTTPClientError) -> HTTPClientResponse {
        let driver = try openedDriver()
        guard driver.count < settings.maximumRequests else {
            throw HTTPClientError(.overloaded, "\(settings.maximumRequests) requests are in flight")
        }
        lastNumber &+= 1
        let number = lastNumber
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Outcome, Never>) in
                do throws(HTTPClientError) {
                    let transfer = try HTTPClientTransfer(number: number, request: request, settings: settings) {
                        continuation.resume(returning: $0)
                    }
                    driver.start(transfer)
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        } onCancel: {
            // Later on the loop's thread, so after the transfer has begun.
            loop.execute { self.assumeIsolated { $0.driver?.cancel(number) } }
        }
        return try result.get()
    }

    /// Ends what is under way as `cancelled` and closes every connection; a later request starts anew.
    package func close() {
        driver?.close()
        driver = nil
    }

    private typealias Outcome = Result<HTTPClientResponse, HTTPClientError>

    private func openedDriver() throws(HTTPClientError) -> HTTPClientDriver {
        if let driver { return driver }
        let opened = try HTTPClientDriver(settings: settings, loop: loop)
        driver = opened
        return opened
    }
}
