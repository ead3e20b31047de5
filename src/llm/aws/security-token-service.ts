import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { serviceAddress } from "./aws-variables.ts"
import { keysFrom } from "./identity.ts"
import type { AwsCredentialOptions, AwsKeys } from "./identity.ts"
import { resolveAwsRegion } from "./region.ts"
import { signRequest } from "./sign.ts"

const VERSION = "2011-06-15"
export const SESSION_NAME = "hermes-agent"

export interface StsQuestion {
  readonly form: Readonly<Record<string, string>>
  /** Whose signature the request carries; none for a token that speaks for itself. */
  readonly signedBy?: AwsKeys
  readonly region?: string | undefined
  /** What is shown as the source of the keys. */
  readonly source: string
  readonly role: string
  /** For sentences: what AWS refuses, what does not come about without an answer, and what to look at. */
  readonly words: { readonly refused: string; readonly undone: string; readonly advice: string }
}

/** Asks the Security Token Service for the keys of a role. Throws only when the signal aborts. */
export async function askSts(question: StsQuestion, options: AwsCredentialOptions): Promise<Result<AwsKeys>> {
  const { form, role } = question
  const region = question.region ?? (await resolveAwsRegion({ ...options, host: "", configured: "" }))
  const url = new URL(`${serviceAddress("sts", region, options.environment)}/`)
  const body = new URLSearchParams({ Version: VERSION, ...form }).toString()
  const headers = { "content-type": "application/x-www-form-urlencoded" }
  const signature = signatureOf({ url, headers, body, region }, question.signedBy, options)
  let answer: { readonly status: number; readonly body: string }
  try {
    answer = await options.fetchText(url.href, {
      method: "POST",
      headers: { ...headers, ...signature },
      body,
      signal: options.signal,
    })
  } catch (error) {
    if (options.signal.aborted) throw error
    return fail(`${url.host} does not answer, so ${question.words.undone}`)
  }
  if (answer.status !== 200) {
    const said = element(answer.body, "Message") ?? `status ${answer.status}`
    return fail(`AWS refused ${question.words.refused}: ${said.replace(/\.$/, "")}. ${question.words.advice}`)
  }
  const found = keysFrom({
    accessKeyId: element(answer.body, "AccessKeyId"),
    secretAccessKey: element(answer.body, "SecretAccessKey"),
    sessionToken: element(answer.body, "SessionToken"),
    expiresAt: Date.parse(element(answer.body, "Expiration") ?? ""),
    source: question.source,
  })
  return found?.sessionToken === undefined ? fail(`AWS gave no keys for ${role}. Check the role`) : ok(found)
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

/** The text of an element of the small, flat documents that STS answers with. */
function element(xml: string, name: string): string | undefined {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1]?.trim()
  if (text === undefined || text === "") return undefined
  return text.replaceAll(/&(lt|gt|quot|apos|amp);/g, (whole, entity: string) => ENTITIES[entity] ?? whole)
}

const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" }
