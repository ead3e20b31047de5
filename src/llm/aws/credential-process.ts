import { isRecord, parseJson, stringField } from "../../base/json.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { createAwsKeys } from "./identity.ts"
import type { AwsCredentialOptions, AwsKeys } from "./identity.ts"

/** Runs the profile's `credential_process` and parses the keys it prints. Throws only when the signal aborts. */
export async function keysFromProgram(
  { name, commandLine }: { readonly name: string; readonly commandLine: string },
  { runProgram, signal, clock }: AwsCredentialOptions,
): Promise<Result<AwsKeys>> {
  const subject = `the credential_process of the AWS profile "${name}"`
  const argv = splitCommandLine(commandLine)
  if (argv === undefined || argv.length === 0) return fail(`${subject} is not a command line: a quote is not closed`)
  if (runProgram === undefined) return fail(`${subject} cannot be run here`)
  const printed = await runProgram(argv, { signal })
  if (!printed.ok) return fail(`${subject} ${printed.error}. Run it in a terminal to see why`)
  const output = parseJson(printed.value)
  if (!isRecord(output) || output["Version"] !== 1) {
    return fail(`${subject} did not print credentials of version 1. Run it in a terminal to see its output`)
  }
  const found = createAwsKeys({
    accessKeyId: stringField(output, "AccessKeyId"),
    secretAccessKey: stringField(output, "SecretAccessKey"),
    sessionToken: stringField(output, "SessionToken"),
    expiresAt: Date.parse(stringField(output, "Expiration") ?? ""),
    source: `AWS profile ${name} (credential_process)`,
  })
  if (found === undefined)
    return fail(`${subject} printed no AccessKeyId and SecretAccessKey. Run it in a terminal to see why`)
  if ((found.expiresAt ?? Infinity) <= clock.now())
    return fail(`${subject} printed keys that have already expired. Renew them`)
  return ok(found)
}

/** Splits a command line like a shell, but supports only quotes and backslashes. Undefined when a quote is not closed. */
export function splitCommandLine(line: string): readonly string[] | undefined {
  const words: string[] = []
  let word: string | undefined
  for (let rest = line; rest !== "";) {
    const [part = "", plain, single, double] =
      /^(?:((?:[^\s'"\\]|\\[^])+)|'([^']*)'|"((?:[^"\\]|\\[^])*)"|\s+)/.exec(rest) ?? []
    if (part === "") return undefined
    rest = rest.slice(part.length)
    const text = single ?? plain?.replaceAll(/\\([^])/g, "$1") ?? double?.replaceAll(/\\(["\\$`])/g, "$1")
    if (text !== undefined) word = (word ?? "") + text
    else if (word !== undefined) {
      words.push(word)
      word = undefined
    }
  }
  return word === undefined ? words : [...words, word]
}
