// The packer of dropped folders, with fflate: loaded with the first drop of a folder.
export { pack } from "../drop/pack";
