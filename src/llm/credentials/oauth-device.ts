import { isRecord, stringField } from "../../base/json.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import type { OAuthEndpoints } from "./oauth-endpoints.ts"
import { requestDocument } from "./oauth-request.ts"
import { requestTokens, type TokenOutcome, type TokenOptions } from "./oauth-token.ts"

/** An OAuth device login: the user enters a short code on any device. */
export interface DeviceLogin {
  readonly verificationUrl: string
  readonly userCode: string
  /** Polls the server at its interval until the user has decided or the code expires. */
  finish(options: TokenOptions): Promise<TokenOutcome>
}

const GRANT = "urn:ietf:params:oauth:grant-type:device_code"
const DEFAULT_INTERVAL_SECONDS = 5
const DEFAULT_LIFETIME_SECONDS = 900

export async function startDeviceLogin(endpoints: OAuthEndpoints, options: TokenOptions): Promise<Result<DeviceLogin>> {
  if (endpoints.deviceUrl === undefined) {
    return fail(
      `${endpoints.provider} has no device authorization endpoint: set it with \`hermes config set providers.${endpoints.provider}.oauth.device_url …\``,
    )
  }
  const form = {
    client_id: endpoints.clientId,
    ...(endpoints.scope === undefined ? {} : { scope: endpoints.scope }),
  }
  const response = await requestDocument({ url: new URL(endpoints.deviceUrl), form, ...options })
  if (!response.ok) return response
  const { status, body } = response.value
  const deviceCode = stringField(body, "device_code") ?? ""
  const userCode = stringField(body, "user_code") ?? ""
  const verificationUrl = stringField(body, "verification_uri_complete") ?? stringField(body, "verification_uri") ?? ""
  if (status !== 200 || !isRecord(body) || deviceCode === "" || verificationUrl === "") {
    return fail(`${endpoints.provider} (HTTP ${status}) did not start a device login; check the oauth settings`)
  }
  const lifetime = positive(body["expires_in"]) ?? DEFAULT_LIFETIME_SECONDS
  const intervalSeconds = positive(body["interval"]) ?? DEFAULT_INTERVAL_SECONDS
  const expiresAt = options.clock.now() + lifetime * 1000
  return ok({
    verificationUrl,
    userCode,
    finish: async (waiting) => await poll({ endpoints, deviceCode, intervalSeconds, expiresAt }, waiting),
  })
}

async function poll(
  login: {
    readonly endpoints: OAuthEndpoints
    readonly deviceCode: string
    readonly intervalSeconds: number
    readonly expiresAt: number
  },
  options: TokenOptions,
): Promise<TokenOutcome> {
  const form = { grant_type: GRANT, device_code: login.deviceCode }
  let interval = login.intervalSeconds
  while (options.clock.now() < login.expiresAt) {
    try {
      await options.clock.sleep(interval * 1000, { signal: options.signal })
    } catch (cause) {
      if (options.signal.aborted) break
      throw cause
    }
    const response = await requestTokens(login.endpoints, form, options)
    if (response.kind === "rate-limited" || (response.kind === "refused" && response.code === "slow_down"))
      interval += 5
    else if (response.kind !== "refused" || response.code !== "authorization_pending") return response
  }
  return { kind: "unreachable", message: "the login was not completed in time" }
}

function positive(value: unknown): number | undefined {
  const number = Number(value)
  return Number.isFinite(number) && number > 0 ? number : undefined
}
