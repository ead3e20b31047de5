import { readFileSync } from "node:fs"

import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { explainSystemError } from "../../base/system-error.ts"
import type { Environment } from "../../config/environment.ts"

/** Whose certificates are believed, where Node's own list is not all of it. */
export interface Trust {
  readonly ca?: string[]
  /** False believes every certificate; only a person may ask for that, for one login. */
  readonly rejectUnauthorized?: false
}

const NAMES = ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"]

/** The authorities that the first of these variables names, beside those that Node knows; undefined when none is set. */
export function trustOfEnvironment(environment: Environment): Result<Trust | undefined> {
  const name = NAMES.find((candidate) => (environment.get(candidate) ?? "").trim() !== "")
  if (name === undefined) return ok(undefined)
  return trustFile((environment.get(name) ?? "").trim(), name)
}

/** The authorities in a PEM file, beside those that Node knows. `namedBy` says where the file was named. */
export function trustFile(path: string, namedBy: string): Result<Trust> {
  let pem: string
  try {
    pem = readFileSync(path, "utf8")
  } catch (error) {
    return fail(`the file ${path} of ${namedBy} cannot be read: ${explainSystemError(error)}; name another file`)
  }
  const certificates = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  if (certificates.length === 0 || !certificates.slice(0, CHECKED).every(isCertificate))
    return fail(`the file ${path} of ${namedBy} holds no certificates in PEM form; name another file`)
  return ok({ ca: [...process.getBuiltinModule("node:tls").getCACertificates("default"), ...certificates] })
}

/** A file with more than so many came with the system; reading each of them twice would cost every start. */
const CHECKED = 16

function isCertificate(pem: string): boolean {
  const { X509Certificate } = process.getBuiltinModule("node:crypto")
  try {
    return new X509Certificate(pem).subject !== undefined
  } catch {
    return false
  }
}
