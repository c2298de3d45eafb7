/// What libFuzzer calls: nothing crashes, and the verdict on a stream is the same however it is cut.
///
/// The first byte of the input chooses how: whole against pieces of one size, and small limits so that they are reached.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzHTTP(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    guard count > 0 else { return 0 }
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    let stream = Array(input[1...])
    let whole = verdict(of: stream, inPiecesOf: max(1, stream.count))
    let cut = verdict(of: stream, inPiecesOf: 1 + Int(input[0] & 31))
    precondition(whole == cut, "the verdict depends on how the bytes are cut")
    return 0
}

private enum Verdict: Equatable {
    case head(String, String?, HTTPHeaders, RequestParser.Traits)
    case request([String]?, HTTPHeaders, [UInt8])
    case refused(Refusal)
}

private func verdict(of stream: [UInt8], inPiecesOf size: Int) -> [Verdict] {
    var parser = RequestParser(
        limits: RequestParser.Limits(requestLineBytes: 128, headerBytes: 512, headerCount: 12, chunkLineBytes: 32))
    var verdicts: [Verdict] = []
    var next = 0
    while next < stream.count {
        let piece = Array(stream[next..<min(next + size, stream.count)])
        next += piece.count
        parser.receive(piece.span)
        reading: while true {
            switch parser.next() {
            case .needMore: break reading
            case .head(let head, let traits):
                verdicts.append(.head(head.path, head.query, head.headers, traits))
                precondition(head.path.utf8.first == UInt8(ascii: "/"))
                // The body is judged by the head's own words, as a handler would.
                parser.admitBody(upTo: head.path.utf8.count * 8)
            case .request(let request, _):
                verdicts.append(.request(request.head.segments, request.headers, request.body))
                _ = request.head.queryValue("a")
            case .refused(let refusal):
                verdicts.append(.refused(refusal))
                precondition((400...505).contains(refusal.status))
                return verdicts
            }
        }
    }
    return verdicts
}
