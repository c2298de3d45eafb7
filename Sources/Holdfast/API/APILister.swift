import AppStore

/// Reads a list page by page and says on standard error how far it is, and where to go on.
struct APILister {
    let session: APISession
    let mostPages: Int

    /// Returns whether every page could be trusted.
    func read<Page: ServerAPIPage>(
        _ position: PagePosition, as: Page.Type
    ) async throws(ServerAPIFailure) -> Bool {
        var pages: ServerAPIPages<Page> = try session.client.pages(resuming: position, .support)
        var (count, isFine) = (0, true)
        do throws(ServerAPIFailure) {
            while count < mostPages, let read = try await pages.next() {
                count += 1
                if !session.show(read.body, of: position.endpoint) { isFine = false }
                for warning in read.page.warnings { Console.error("in this page, \(warning)") }
                if !read.next.isFinished { Console.error("page \(read.next.pages), there is more") }
            }
        } catch {
            if count > 0 { offerToResume(pages.position) }
            throw error
        }
        if !pages.position.isFinished { offerToResume(pages.position) }
        return isFine
    }

    private func offerToResume(_ position: PagePosition) {
        Console.error(
            "go on with: holdfast api \(position.endpoint.name) --resume '\(Self.shellQuoted(position.text))'")
    }

    /// For the inside of single quotes.
    private static func shellQuoted(_ text: String) -> String {
        text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''")
    }
}
