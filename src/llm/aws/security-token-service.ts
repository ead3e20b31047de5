import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { serviceAddress } from "./aws-environment.ts"
import { createAwsKeys } from "./identity.ts"
import type { AwsCredentialOptions, AwsKeys } from "./identity.ts"
import { resolveAwsRegion } from "./region.ts"
import { signRequest } from "./sign.ts"

const VERSION = "2011-06-15"
export const SESSION_NAME = "hermes-agent"

export interface StsRequest {
  readonly form: Readonly<Record<string, string>>
  /** The keys that sign the request; absent for a web identity token, which needs no signature. */
  readonly signedBy?: AwsKeys
  readonly region?: string | undefined
  /** Shown as the source of the keys. */
  readonly source: string
  readonly role: string
  /** For failures: what AWS refused, what does not work without a response, and what to check. */
  readonly messages: { readonly refused: string; readonly unreachable: string; readonly advice: string }
}

/** Requests the keys of a role from the Security Token Service. Throws only when the signal aborts. */
export async function callSts(request: StsRequest, options: AwsCredentialOptions): Promise<Result<AwsKeys>> {
  const { form, role } = request
  const region = request.region ?? resolveAwsRegion({ ...options, host: "", configured: "" })
  const url = new URL(`${serviceAddress("sts", region, options.environment)}/`)
  const body = new URLSearchParams({ Version: VERSION, ...form }).toString()
  const headers = { "content-type": "application/x-www-form-urlencoded" }
  const signature = signatureOf({ url, headers, body, region }, request.signedBy, options)
  let response: { readonly status: number; readonly body: string }
  try {
    response = await options.fetchText(url.href, {
      method: "POST",
      headers: { ...headers, ...signature },
      body,
      signal: options.signal,
    })
  } catch (error) {
    if (options.signal.aborted) throw error
    return fail(`${url.host} does not respond, so ${request.messages.unreachable}`)
  }
  if (response.status !== 200) {
    const message = element(response.body, "Message") ?? `status ${response.status}`
    return fail(`AWS refused ${request.messages.refused}: ${message.replace(/\.$/, "")}. ${request.messages.advice}`)
  }
  const found = createAwsKeys({
    accessKeyId: element(response.body, "AccessKeyId"),
    secretAccessKey: element(response.body, "SecretAccessKey"),
    sessionToken: element(response.body, "SessionToken"),
    expiresAt: Date.parse(element(response.body, "Expiration") ?? ""),
    source: request.source,
  })
  return found?.sessionToken === undefined ? fail(`AWS returned no keys for ${role}. Check the role`) : ok(found)
}

function signatureOf(
  request: {
    readonly url: URL
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
    readonly region: string
  },
  credentials: AwsKeys | undefined,
  { clock }: AwsCredentialOptions,
): Readonly<Record<string, string>> {
  if (credentials === undefined) return {}
  return signRequest({ method: "POST", ...request, credentials, service: "sts", now: clock.now() })
}

/** Returns the text of an element; the XML of STS is small and flat. */
function element(xml: string, name: string): string | undefined {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1]?.trim()
  if (text === undefined || text === "") return undefined
  return text.replaceAll(/&(lt|gt|quot|apos|amp);/g, (whole, entity: string) => ENTITIES[entity] ?? whole)
}

const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" }
