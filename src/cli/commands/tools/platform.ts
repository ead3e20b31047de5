import { CliError, type Invocation } from "../../command.ts"

/** This release has only the terminal, so `--platform` accepts nothing else. */
export function refuseOtherPlatform({ flags }: Invocation): void {
  const platform = flags.text("platform")
  if (platform !== undefined && platform !== "cli")
    throw new CliError(`Toolsets of the platform ${platform} are not available in this release; the only one is cli.`, {
      exitCode: 1,
    })
}
