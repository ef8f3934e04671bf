// Validates an OpenAPI document: node validate.mjs FILE.
import parser from "@apidevtools/swagger-parser";

await parser.validate(process.argv[2]);
