import { userInfo } from "node:os"

import { reply, type SlashCommand } from "./slash-command.ts"

/** `/profile`: the profile and its home. */
export const profileCommand: SlashCommand = {
  name: "profile",
  category: "information",
  help: "show the profile and its home directory",
  run: (_argument, { app }) =>
    Promise.resolve(
      reply(`profile      ${app.home.profile}\nhome         ${app.home.path}\n\`hermes -p NAME\` starts another one.`),
    ),
}

/** `/whoami`: the user on whose behalf the session runs. */
export const whoamiCommand: SlashCommand = {
  name: "whoami",
  category: "information",
  help: "show the user, the profile and the permissions of this session",
  run: (_argument, { app, session }) =>
    Promise.resolve(
      reply(
        [
          `user         ${userInfo().username}`,
          `profile      ${app.home.profile}`,
          `permissions  ${session.facts.permissionProfile}`,
        ].join("\n"),
      ),
    ),
}

export const versionCommand: SlashCommand = {
  name: "version",
  aliases: ["v"],
  category: "information",
  help: "show the version",
  run: (_argument, { app }) => Promise.resolve(reply(`Hermes ${app.version}, Node ${process.version}`)),
}
