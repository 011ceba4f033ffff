import CCurl

/// libcurl, loaded when it is first needed and then for the life of the process.
struct CurlLibrary: @unchecked Sendable {
    /// Only read after `init`; the functions may be called by any thread, each with a handle of its own.
    let functions: curl_library_

    static let shared = Result { () throws(FetchFailure) in try CurlLibrary() }

    private init() throws(FetchFailure) {
        var functions = curl_library_()
        if let reason = curl_load_(&functions) { throw .missingLibrary(String(cString: reason)) }
        self.functions = functions
    }
}
