import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { request as httpRequest } from "node:http"
import { createServer } from "node:https"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** A TLS server on loopback with a self-signed certificate for models.example.com. */
export interface TlsServer extends AsyncDisposable {
  readonly url: string
  /** The file to trust, in PEM format. */
  readonly certificateFile: string
}

/** Forwards every request to `target`. */
export async function startTlsServer(target: string): Promise<TlsServer> {
  const directory = mkdtempSync(join(tmpdir(), "hermes-tls-"))
  const certificateFile = join(directory, "certificate.pem")
  writeFileSync(certificateFile, CERTIFICATE)
  const server = createServer({ key: KEY, cert: CERTIFICATE }, (incoming, response) => {
    const { method, headers } = incoming
    const outgoing = httpRequest(new URL(incoming.url ?? "/", target), { method, headers }, (upstream) => {
      response.writeHead(upstream.statusCode ?? 502, upstream.headers)
      upstream.pipe(response)
    })
    outgoing.on("error", () => response.destroy())
    incoming.pipe(outgoing)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    certificateFile,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** Self-signed for models.example.com, localhost and 127.0.0.1, valid for a hundred years. Used only in tests. */
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBxDCCAWmgAwIBAgIUALZbxNUWSP9xVcMbUsvv1hbrK/gwCgYIKoZIzj0EAwIw
HTEbMBkGA1UEAwwSbW9kZWxzLmV4YW1wbGUuY29tMCAXDTI2MTExNTA5MzY0NFoY
DzIxMjYxMDIyMDkzNjQ0WjAdMRswGQYDVQQDDBJtb2RlbHMuZXhhbXBsZS5jb20w
WTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQoQdWKt9RHot/p2XC5wCRWFoAcoVOU
TXBUqqG/J3mWD9LZez3WRDQ4UFZG11rTjW/JEhFAo4j7RZ8rB/1kkicQo4GEMIGB
MB0GA1UdDgQWBBScjsf/bQ8YYy7IBuhA6QVBZJeslzAfBgNVHSMEGDAWgBScjsf/
bQ8YYy7IBuhA6QVBZJeslzAPBgNVHRMBAf8EBTADAQH/MC4GA1UdEQQnMCWCEm1v
ZGVscy5leGFtcGxlLmNvbYIJbG9jYWxob3N0hwR/AAABMAoGCCqGSM49BAMCA0kA
MEYCIQCkT9X/deHcqLwxShqxL+ekAJunFAgDwmDrfY3AhrBRjAIhAJsxGeUxn7Ij
QNbJ5Kj1ttY5R4t1RHfVxdOseaac/wB/
-----END CERTIFICATE-----
`
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg0hS0Cu0H6AejhA22
fFlUZAUgwWVpG4X6hk+tCADjTKWhRANCAAQoQdWKt9RHot/p2XC5wCRWFoAcoVOU
TXBUqqG/J3mWD9LZez3WRDQ4UFZG11rTjW/JEhFAo4j7RZ8rB/1kkicQ
-----END PRIVATE KEY-----
`
