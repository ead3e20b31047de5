import { readFileSync } from "node:fs"

import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { explainSystemError } from "../../base/system-error.ts"
import type { Environment } from "../../config/environment.ts"

/** Certificate authorities to trust in addition to Node's default list. */
export interface TlsTrust {
  readonly ca?: string[]
  /** False disables certificate verification; only the user may request that, for one login. */
  readonly rejectUnauthorized?: false
}

const VARIABLES = ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"]

/** Loads the CA bundle that `SSL_CERT_FILE` or `REQUESTS_CA_BUNDLE` names; undefined when neither is set. */
export function trustFromEnvironment(environment: Environment): Result<TlsTrust | undefined> {
  const name = VARIABLES.find((candidate) => (environment.get(candidate) ?? "").trim() !== "")
  if (name === undefined) return ok(undefined)
  return loadTrustFile((environment.get(name) ?? "").trim(), name)
}

/** Loads a PEM file of certificate authorities. `origin` is the variable or setting that names the file, for messages. */
export function loadTrustFile(path: string, origin: string): Result<TlsTrust> {
  let pem: string
  try {
    pem = readFileSync(path, "utf8")
  } catch (error) {
    return fail(`the file ${path} of ${origin} cannot be read: ${explainSystemError(error)}; choose another file`)
  }
  const certificates = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  if (certificates.length === 0 || !certificates.slice(0, MAX_CHECKED).every(isCertificate))
    return fail(`the file ${path} of ${origin} contains no PEM certificates; choose another file`)
  return ok({ ca: [...process.getBuiltinModule("node:tls").getCACertificates("default"), ...certificates] })
}

/** Larger bundles come with the system; checking every certificate would slow down each start. */
const MAX_CHECKED = 16

function isCertificate(pem: string): boolean {
  const { X509Certificate } = process.getBuiltinModule("node:crypto")
  try {
    return new X509Certificate(pem).subject !== undefined
  } catch {
    return false
  }
}
