/** The README's table of variables, from the tables that the program itself uses. */
import { type SettingName, settingInfo, settings } from "./settings.ts";
import { VARIABLES } from "./variables.ts";

/** The whole table in Markdown, without a line end. */
export function variableTable(): string {
  const rows = (Object.keys(settings.shape) as SettingName[]).flatMap((name) => {
    const info = settingInfo.get(settings.shape[name]);
    if (!info) return [];
    return [
      `| \`${info.variable}\` | ${info.inFile ? `\`${info.key ?? name}\`` : "–"} | ${info.fallback} | ${info.about} |`,
    ];
  });
  const others = VARIABLES.map(({ variable, about }) => `| \`${variable}\` | – | – | ${about} |`);
  return [
    "| variable | in the file | default | what it does |",
    "| --- | --- | --- | --- |",
    ...rows,
    ...others,
  ].join("\n");
}
