import { isRecord, stringField } from "../../base/json.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import type { OAuthEndpoints } from "./oauth-endpoints.ts"
import { requestDocument } from "./oauth-request.ts"
import { requestTokens, type TokenAnswer, type TokenOptions } from "./oauth-token.ts"

/** A login that the person grants on any device, by typing a short code. */
export interface DeviceLogin {
  readonly verificationUrl: string
  readonly userCode: string
  /** Asks the server at the pace it wants, until the person has decided or the code has run out. */
  finish(options: TokenOptions): Promise<TokenAnswer>
}

const GRANT = "urn:ietf:params:oauth:grant-type:device_code"
const DEFAULT_PAUSE_SECONDS = 5
const DEFAULT_LIFETIME_SECONDS = 900

export async function startDeviceLogin(endpoints: OAuthEndpoints, options: TokenOptions): Promise<Result<DeviceLogin>> {
  if (endpoints.deviceUrl === undefined) {
    return fail(
      `${endpoints.provider} has no address for a login by code: set it with \`hermes config set providers.${endpoints.provider}.oauth.device_url …\``,
    )
  }
  const form = {
    client_id: endpoints.clientId,
    ...(endpoints.scope === undefined ? {} : { scope: endpoints.scope }),
  }
  const answer = await requestDocument({ url: new URL(endpoints.deviceUrl), form, ...options })
  if (!answer.ok) return answer
  const { status, body } = answer.value
  const deviceCode = stringField(body, "device_code") ?? ""
  const userCode = stringField(body, "user_code") ?? ""
  const verificationUrl = stringField(body, "verification_uri_complete") ?? stringField(body, "verification_uri") ?? ""
  if (status !== 200 || !isRecord(body) || deviceCode === "" || verificationUrl === "") {
    return fail(`${endpoints.provider} (HTTP ${status}) did not start a login by code; check the oauth settings`)
  }
  const lifetime = positive(body["expires_in"]) ?? DEFAULT_LIFETIME_SECONDS
  const firstPause = positive(body["interval"]) ?? DEFAULT_PAUSE_SECONDS
  const endsAt = options.clock.now() + lifetime * 1000
  return ok({
    verificationUrl,
    userCode,
    finish: async (waiting) => await poll({ endpoints, deviceCode, firstPause, endsAt }, waiting),
  })
}

async function poll(
  login: {
    readonly endpoints: OAuthEndpoints
    readonly deviceCode: string
    readonly firstPause: number
    readonly endsAt: number
  },
  options: TokenOptions,
): Promise<TokenAnswer> {
  const form = { grant_type: GRANT, device_code: login.deviceCode }
  let pause = login.firstPause
  while (options.clock.now() < login.endsAt) {
    try {
      await options.clock.sleep(pause * 1000, { signal: options.signal })
    } catch (cause) {
      if (options.signal.aborted) break
      throw cause
    }
    const answer = await requestTokens(login.endpoints, form, options)
    if (answer.kind === "rate-limited" || (answer.kind === "refused" && answer.code === "slow_down")) pause += 5
    else if (answer.kind !== "refused" || answer.code !== "authorization_pending") return answer
  }
  return { kind: "unreachable", message: "nobody finished the login in time" }
}

function positive(value: unknown): number | undefined {
  const number = Number(value)
  return Number.isFinite(number) && number > 0 ? number : undefined
}
