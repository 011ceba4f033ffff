// GET /v1/apps/{app}/installations/{installId}/snapshots

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    var listSnapshots: Route {
        appRoute(.get, Self.installationPattern + "/snapshots", allowing: [.service, .support]) { request, call in
            let page = try PageRequest<Int64>(request)
            let (key, requester) = try installation(of: request, in: call)
            try await checkOwner(of: key, for: requester)
            guard let found = try await installations.snapshots(of: key, before: page.after, limit: page.limit) else {
                throw APIError.unknownInstallation
            }
            return .json(text(of: found))
        }
    }

    private func text(of page: SnapshotPage) -> JSONWriter {
        var writer = JSONWriter(capacity: 4_096)
        writer.object { writer in
            writer.name("snapshots")
            writer.array { writer in
                for (at, snapshot) in page.snapshots {
                    writer.object { writer in
                        writer.member("at", at.description)
                        writer.snapshot(snapshot)
                    }
                }
            }
            writer.member("next", page.next.map { String($0) })
        }
        return writer
    }
}
