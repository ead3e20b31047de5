import { readFile } from "node:fs/promises"

import { fail } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { AwsCredentialOptions, AwsKeys } from "./identity.ts"
import { SESSION_NAME, askSts } from "./security-token-service.ts"

export interface WebIdentity {
  readonly tokenFile: string
  readonly roleArn: string
  readonly sessionName: string | undefined
  readonly region?: string | undefined
  /** Where file and role were named, for sentences. */
  readonly named: { readonly file: string; readonly role: string }
}

/**
 * Exchanges the token that a cluster or a build service put into a file for keys of the role it was given for. The answer is keys
 * that end, or a sentence with the fix: the role of the machine is never taken in place of the one that was chosen. Throws
 * only when the signal aborts.
 */
export async function exchangeWebIdentity(
  { tokenFile, roleArn, sessionName, region, named }: WebIdentity,
  options: AwsCredentialOptions,
): Promise<Result<AwsKeys>> {
  let token: string
  try {
    token = (await readFile(tokenFile, "utf8")).trim()
  } catch {
    return fail(`the file ${tokenFile} of ${named.file} cannot be read`)
  }
  const form = {
    Action: "AssumeRoleWithWebIdentity",
    RoleArn: roleArn,
    RoleSessionName: sessionName ?? SESSION_NAME,
    WebIdentityToken: token,
  }
  return await askSts(
    {
      form,
      region,
      source: `AWS web identity ${roleArn}`,
      role: roleArn,
      words: {
        refused: "the web identity token",
        undone: "the web identity token cannot be exchanged",
        advice: `Check ${named.role} and what the role trusts`,
      },
    },
    options,
  )
}
