import { readFile } from "node:fs/promises"

import { fail } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { AwsCredentialOptions, AwsKeys } from "./identity.ts"
import { SESSION_NAME, callSts } from "./security-token-service.ts"

export interface WebIdentity {
  readonly tokenFile: string
  readonly roleArn: string
  readonly sessionName: string | undefined
  readonly region?: string | undefined
  /** The settings that name the file and the role, for messages. */
  readonly configuredBy: { readonly file: string; readonly role: string }
}

/**
 * Exchanges the token that a cluster or build service wrote to a file for temporary keys of its role. Never falls back to the
 * instance role, which the user did not choose. Throws only when the signal aborts.
 */
export async function exchangeWebIdentity(
  { tokenFile, roleArn, sessionName, region, configuredBy }: WebIdentity,
  options: AwsCredentialOptions,
): Promise<Result<AwsKeys>> {
  let token: string
  try {
    token = (await readFile(tokenFile, "utf8")).trim()
  } catch {
    return fail(`the file ${tokenFile} of ${configuredBy.file} cannot be read`)
  }
  const form = {
    Action: "AssumeRoleWithWebIdentity",
    RoleArn: roleArn,
    RoleSessionName: sessionName ?? SESSION_NAME,
    WebIdentityToken: token,
  }
  return await callSts(
    {
      form,
      region,
      source: `AWS web identity ${roleArn}`,
      role: roleArn,
      messages: {
        refused: "the web identity token",
        unreachable: "the web identity token cannot be exchanged",
        advice: `Check ${configuredBy.role} and the trust policy of the role`,
      },
    },
    options,
  )
}
