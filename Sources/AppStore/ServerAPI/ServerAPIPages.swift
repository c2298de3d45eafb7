internal import Entitlements

/// A list of Apple's that comes in pages, read one page at a time from wherever it was left.
///
/// ```swift
/// for try await read in try client.history(id, .sweep) {
///     use(read.page)
///     keep(read.next.text)            // and later, in any process: client.pages(resuming: PagePosition(text: …))
/// }
/// ```
///
/// Every page repeats all parameters, as Apple asks. A failure leaves the position where it was, so the same page can
/// be asked for again. A server that leads in circles is found out, in memory that does not grow.
package struct ServerAPIPages<Page: ServerAPIPage>: AsyncSequence, AsyncIteratorProtocol, Sendable {
    package struct Read: Sendable {
        package let page: Page
        /// Apple's bytes.
        package let body: [UInt8]
        /// Where to go on after this page.
        package let next: PagePosition
    }

    package typealias Element = Read
    package typealias Failure = ServerAPIFailure

    package private(set) var position: PagePosition
    private var deadEnd: ServerAPIFailure?
    private let client: ServerAPIClient
    private let priority: CallPriority

    init(_ client: ServerAPIClient, _ priority: CallPriority, at position: PagePosition) {
        self.client = client
        self.priority = priority
        self.position = position
    }

    package func makeAsyncIterator() -> Self { self }

    /// Asks for the next page; nil when there are no more.
    package mutating func next(
        isolation actor: isolated (any Actor)? = #isolation
    ) async throws(ServerAPIFailure) -> Read? {
        guard !position.isFinished else { return nil }
        if let deadEnd { throw deadEnd }
        let request = try position.request()
        let answer = try await client.answer(to: request, priority)
        let page: Page
        do throws(MissingMember) { page = try Page(answer) } catch {
            throw ServerAPIFailure(.unreadable, request.endpoint, "the answer has no \(error.name)")
        }
        // What it brought is good even if nobody can say how to go on; that is told when the next one is asked for.
        do throws(ServerAPIFailure) {
            position = try position.following(hasMore: page.hasMore, token: page.nextToken)
        } catch { deadEnd = error }
        return Read(page: page, body: answer.body, next: position)
    }
}

extension ServerAPIClient {
    /// Before the first page of a call, or at the revision or paginationToken among its values.
    package func start(of request: ServerAPIRequest) throws(ServerAPIFailure) -> PagePosition {
        try PagePosition(request, bundleID: bundleID, environment: environment)
    }

    /// The pages of a call.
    package func pages<Page: ServerAPIPage>(
        of request: ServerAPIRequest, _ priority: CallPriority, as: Page.Type = Page.self
    ) throws(ServerAPIFailure) -> ServerAPIPages<Page> {
        ServerAPIPages(
            self, priority, at: try start(of: request))
    }

    /// Goes on where a position says; it must be of this app and environment, and `Page` of its endpoint.
    package func pages<Page: ServerAPIPage>(
        resuming position: PagePosition, _ priority: CallPriority, as: Page.Type = Page.self
    ) throws(ServerAPIFailure) -> ServerAPIPages<Page> {
        guard position.bundleID == bundleID, position.environment == environment else {
            throw ServerAPIFailure(
                .invalidRequest, position.endpoint,
                "the position is of \(position.bundleID) in \(position.environment.rawValue), not of \(bundleID) in \(environment.rawValue)"
            )
        }
        return ServerAPIPages(self, priority, at: position)
    }
}
