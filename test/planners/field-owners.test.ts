/** Who owns the fields of an object that was made anew in place of another. */

import { describe, expect, it } from '@jest/globals';

import { withWritersSince } from '../../planners/field-owners.ts';
import { UPDATE_FIELD_MANAGER } from '../../planners/names.ts';

type Owned = Readonly<Record<string, object>>;

function entry(manager: string, operation: 'Apply' | 'Update', fieldsV1: Owned, subresource?: string) {
  return {
    manager,
    operation,
    apiVersion: 'v1',
    fieldsType: 'FieldsV1',
    fieldsV1,
    ...(subresource !== undefined && { subresource }),
  };
}

const SPEC = {
  'f:replicas': {},
  'f:template': { 'f:spec': { 'f:containers': { 'k:{"name":"app"}': { '.': {}, 'f:image': {} } } } },
};
const GIT = entry('fairlead', 'Apply', { 'f:spec': SPEC });
/** All of it, but for what is named. */
const made = (spec: Owned) => entry(UPDATE_FIELD_MANAGER, 'Update', { 'f:spec': spec });

describe('an object that was made anew', () => {
  it.each([[undefined], [[]], [[made(SPEC)]]])('belongs to its owners of before: %j', (present) => {
    expect(withWritersSince([GIT], present)).toEqual([GIT]);
  });

  it('but what somebody has changed since is his', () => {
    const scaled = entry('kubectl', 'Update', { 'f:spec': { 'f:replicas': {} } }, 'scale');
    const { 'f:template': template } = SPEC;
    expect(withWritersSince([GIT], [made({ 'f:template': template }), scaled])).toEqual([
      entry('fairlead', 'Apply', { 'f:spec': { 'f:template': template } }),
      scaled,
    ]);
  });

  it('what is said alike belongs to both', () => {
    const alike = entry('kubectl', 'Apply', { 'f:spec': { 'f:replicas': {} } });
    expect(withWritersSince([GIT], [made(SPEC), alike])).toEqual([GIT, alike]);
  });

  it('who owned something before and writes again has one entry', () => {
    const before = entry('kubectl', 'Apply', { 'f:spec': { 'f:replicas': {} } });
    const again = {
      ...entry('kubectl', 'Apply', { 'f:metadata': { 'f:labels': { 'f:a': {} } } }),
      time: 'later',
    };
    expect(withWritersSince([before], [made(SPEC), again])).toEqual([
      { ...again, fieldsV1: { 'f:spec': { 'f:replicas': {} }, 'f:metadata': { 'f:labels': { 'f:a': {} } } } },
    ]);
  });

  it('who has nothing left has no entry, and a map that was written as a whole is taken as a whole', () => {
    const before = entry('kubectl', 'Update', { 'f:spec': { 'f:selector': { '.': {}, 'f:app': {} } } });
    const since = entry('edit', 'Update', { 'f:spec': { 'f:selector': {} } });
    expect(withWritersSince([before], [made({ 'f:replicas': {} }), since])).toEqual([since]);
  });

  it('an item of a list is its own, beside its fields', () => {
    const image = {
      'f:template': { 'f:spec': { 'f:containers': { 'k:{"name":"app"}': { 'f:image': {} } } } },
    };
    const item = { 'f:template': { 'f:spec': { 'f:containers': { 'k:{"name":"app"}': { '.': {} } } } } };
    const edit = entry('edit', 'Update', { 'f:spec': image });
    expect(withWritersSince([GIT], [made({ 'f:replicas': {}, ...item }), edit])).toEqual([
      entry('fairlead', 'Apply', { 'f:spec': { 'f:replicas': {}, ...item } }),
      edit,
    ]);
  });
});
